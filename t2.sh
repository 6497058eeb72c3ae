. /tmp/h4w/env.sh
cd w1; ls; export N=5
mkdir -p mine && cd mine; echo "my readme" > README.md; echo '{"my":1}' > config.json; echo '{"a":1}' > package.json
g export ../eng .
cat README.md config.json | head -5; ls
rm -f config.json; g export ../eng . ; cat README.md | head -3; ls
cd ..
mkdir proj; echo "my readme" > proj/README.md; echo "my rec" > proj/recipe.toml
g train masked-lm t.txt -o proj --steps 2
ls proj; cat proj/README.md | head -3
mkdir proj2; echo "my readme" > proj2/README.md;
python - <<'P'
from transformers import AutoConfig
P
g import mine proj2 ; ls proj2; head -2 proj2/README.md
g distil eng t.txt -o proj2 --steps 1; head -2 proj2/README.md
g export eng onnxdir --onnx; g export eng --help
