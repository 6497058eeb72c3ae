. /tmp/h4w/env.sh
mkdir -p w3; cd w3; export N=2
python - <<'P'
import random
random.seed(0)
w="the a cat dog sat ran on in mat house big small red blue she he they saw liked".split()
open('docs.txt','w').write("\n\n".join("\n".join(" ".join(random.choice(w) for _ in range(8))+"." for _ in range(4)) for _ in range(60)))
P
for f in checkpoints/x metrics.jsonl train.log tensorboard/x probes/x rejects.jsonl vocab.txt left_out.jsonl notes.txt data.json tokenizer.json probe/x ; do
 rm -rf r; mkdir -p r/$(dirname $f); echo mine > r/$f; nice glassformer train masked-lm docs.txt -o r --steps 2 --threads 1 2>&1 | tail -1 | cut -c1-180; echo "$f: $(head -c 40 r/$f)"; done; ls -R r
