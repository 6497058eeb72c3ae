. /tmp/h4w/env.sh
cd w1; export N=3
for f in vocab.txt tokenizer_config.json special_tokens_map.json generation_config.json merges.txt vocab.json modules.json sentence_bert_config.json config_sentence_transformers.json chat_template.jinja; do
 rm -rf d; mkdir d; echo "mine" > d/$f; g export eng d --to "" >/dev/null 2>&1; echo "$f:"; nice glassformer export $( [ $f = merges.txt -o $f = vocab.json ] && echo writer || echo eng) d 2>&1 | tail -1 | cut -c1-150;  cat d/$f | head -c 60; echo; done
rm -rf d; mkdir d; mkdir d/1_Pooling; echo '{}' > d/1_Pooling/config.json; nice glassformer export eng d | tail -1; cat d/1_Pooling/config.json | head -3;ls d
nice glassformer export eng d/x.onnx | tail -2; echo mine > m.onnx; g export eng m.onnx; head -c 20 m.onnx
for f in checkpoints/x metrics.jsonl metrics.json recipe.toml train.log tensorboard/x probes/x rejects.jsonl vocab.txt  glassformer.json; do
 rm -rf r; mkdir -p r/$(dirname $f); echo mine > r/$f; nice glassformer train masked-lm t.txt -o r --steps 2 2>&1 | tail -1 | cut -c1-180; echo "$f: $(head -c 40 r/$f)"; done
