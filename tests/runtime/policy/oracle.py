"""Asks the Hugging Face implementation what tests compare with.

usage: oracle.py model DIR [untied] [shards] [bfloat16]
       oracle.py tokenizer DIR
       oracle.py grpo DIR          DIR holds a model and samples.json

Exits with 77 where a package is missing.
"""
import json
import pathlib
import sys

try:
    import safetensors.torch
    import tokenizers
    import torch
    import transformers
except ImportError as missing:
    print(f"oracle: {missing}", file=sys.stderr)
    sys.exit(77)


def model(folder, options):
    """A random small Qwen3 with its logits on random tokens."""
    torch.manual_seed(11)
    config = transformers.Qwen3Config(
        vocab_size=300, hidden_size=48, intermediate_size=80,
        num_hidden_layers=3, num_attention_heads=6, num_key_value_heads=2,
        head_dim=16, max_position_embeddings=512, rope_theta=50000.0,
        tie_word_embeddings="untied" not in options, eos_token_id=[7, 9])
    network = transformers.Qwen3ForCausalLM(config)
    with torch.no_grad():
        for name, value in network.named_parameters():
            # Larger than at a real start, so that attention is not uniform,
            # and norms away from one.
            spread = 0.3 if "norm" in name else 0.15
            value.copy_(torch.randn_like(value) * spread
                        + (1.0 if "norm" in name else 0.0))
    if "bfloat16" in options:
        network = network.to(torch.bfloat16)
    network.save_pretrained(
        folder, max_shard_size="60KB" if "shards" in options else "1GB")
    # Not network.to(float32): that would keep rounded rotary frequencies.
    network = transformers.Qwen3ForCausalLM.from_pretrained(
        folder, dtype=torch.float32).eval()
    tokens = torch.randint(0, config.vocab_size, (2, 150))
    with torch.no_grad():
        logits = network(tokens).logits
    safetensors.torch.save_file({"tokens": tokens, "logits": logits},
                                folder / "expected.safetensors")


TEXTS = [
    "", " ", "a", "Hello, world!", "it's we'll I'D they'Re don't 'S",
    "  two spaces\n\n\nand   lines \r\n\r\n end  ", "tab\there\t\tand\u00a0nbsp",
    "x = 3.14159e-10; y[12345] += 0x7fff;", "1234567890 12 3 ½ ² ٣٤ ४५ Ⅷ",
    "for (int i = 0; i < n; ++i) { out[i] = tanhf(a[i]) * 0.5f; }\n",
    "def f(x):\n    return x if x > 0 else -x  # comment\n\n\tclass A: pass",
    "Größe, naïve café, ÆØÅ, ĳ, ﬁ, ſ, 'ſ, İstanbul, ẞ",
    "cafe\u0301 A\u030a \u1112\u1161\u11ab \u0958 \u2126 \u212b e\u0327\u0301",
    "Ελληνικά, русский язык, ქართული, հայերեն, עִבְרִית, العَرَبِيَّة, فارسی",
    "हिन्दी, বাংলা, தமிழ், తెలుగు, ಕನ್ನಡ, മലയാളം, සිංහල, ไทย, ລາວ, မြန်မာ, ខ្មែរ",
    "漢字かな交じり文。中文，标点！한국어 띄어쓰기. ㄅㄆㄇ 𠮷野家 ｱｲｳ",
    "ᠮᠣᠩᠭᠣᠯ\u180eᠪᠢᠴᠢᠭ, አማርኛ, ᏣᎳᎩ, ᐃᓄᒃᑎᑐᑦ, ꦗꦮ, 𐌰𐌹𐍅𐍃, 𒀀𒁀, ߒߞߏ",
    "👍🏽 👨‍👩‍👧‍👦 🇩🇪 ☕️ \u200b\u200d\ufeff zero\u2028width\u2029 \u3000wide",
    "<|im_start|>user\nhi<|im_end|>\n<|endoftext|><|im_end",
    "<think>plan</think><tool>" "a<|endoftext|>b <|endoftext|> c",
    "\x00\x01\x7f control \x85 next \x0b\x0c", "a" * 700, "ab " * 300,
    "=" * 130 + "\n" + "-" * 77, " " * 400 + "x", "\n" * 33 + " \n \n",
    "http://example.org/?q=1&r=%20#frag C:\\path\\to\\file.txt $PATH ~/x",
]

QWEN = (r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}|"
        r" ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+")


def tokenizer(folder, options):
    """A byte-level BPE as Qwen's, trained on the texts and this file."""
    from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models,
                            normalizers, pre_tokenizers, trainers)
    made = Tokenizer(models.BPE())
    made.normalizer = normalizers.NFC()
    made.pre_tokenizer = pre_tokenizers.Sequence([
        pre_tokenizers.Split(Regex(QWEN), "isolated"),
        pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)])
    made.decoder = decoders.ByteLevel()
    corpus = TEXTS + pathlib.Path(__file__).read_text().splitlines()
    made.train_from_iterator(corpus, trainers.BpeTrainer(
        vocab_size=1200, show_progress=False,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    made.add_special_tokens(["<|endoftext|>", "<|im_start|>", "<|im_end|>"])
    made.add_tokens([AddedToken("<think>", normalized=False),
                     AddedToken("</think>", normalized=False)])
    made.save(str(folder / "tokenizer.json"))
    generator = torch.Generator().manual_seed(5)
    cases = []
    for text in TEXTS + [" ".join(TEXTS)]:
        ids = made.encode(text).ids
        cases.append({"text": text, "ids": ids, "decoded": made.decode(ids),
                      "whole": made.decode(ids, skip_special_tokens=False)})
    # Random ids are invalid UTF-8 for the most part.
    for _ in range(60):
        ids = torch.randint(0, made.get_vocab_size(), (25,),
                            generator=generator).tolist()
        cases.append({"ids": ids, "decoded": made.decode(ids),
                      "whole": made.decode(ids, skip_special_tokens=False)})
    for _ in range(60):
        ids = torch.randint(0, 256, (25,), generator=generator).tolist()
        cases.append({"ids": ids, "decoded": made.decode(ids),
                      "whole": made.decode(ids, skip_special_tokens=False)})
    (folder / "cases.json").write_text(json.dumps(cases))


def logprobs(network, sample, temperature):
    tokens = torch.tensor([sample["prompt"] + sample["response"]])
    logits = network(tokens).logits[0] / temperature
    first = len(sample["prompt"]) - 1
    scores = torch.log_softmax(logits[first:-1].float(), -1)
    return scores.gather(1, torch.tensor(sample["response"])[:, None])[:, 0]


def grpo(folder, options):
    """Loss and gradients of GRPO, written down as the formula reads."""
    case = json.loads((folder / "samples.json").read_text())
    network = transformers.Qwen3ForCausalLM.from_pretrained(
        folder, dtype=torch.float32)
    reference = transformers.Qwen3ForCausalLM.from_pretrained(
        folder / "reference", dtype=torch.float32)
    losses, tokens = {}, {}
    for sample in case["samples"]:
        scores = logprobs(network, sample, case["temperature"])
        group = sample["group"]
        if case["objective"] == "sft":
            losses[group] = losses.get(group, 0) - scores.sum()
            tokens[group] = tokens.get(group, 0) + len(scores)
            continue
        weights = torch.tensor(sample["weights"] or [1.0] * len(scores))
        behaviour = torch.tensor(sample["behaviour"])
        if sample["weights"]:
            behaviour = scores.detach()
        ratio = (scores - behaviour).exp()
        clipped = ratio.clip(1 - case["clip_low"], 1 + case["clip_high"])
        gain = torch.minimum(ratio * sample["advantage"],
                             clipped * sample["advantage"])
        with torch.no_grad():
            anchor = logprobs(reference, sample, case["temperature"])
        away = anchor - scores
        penalty = away.exp() - away - 1
        kept = weights > 0
        losses[group] = (losses.get(group, 0)
                         - (weights * gain - case["kl"] * penalty)[kept].sum())
        tokens[group] = tokens.get(group, 0) + int(kept.sum())
    loss = sum(losses[x] / tokens[x] for x in losses) / len(losses)
    loss.backward()
    grads = {name: value.grad.contiguous()
             for name, value in network.named_parameters()}
    grads["loss"] = loss.detach().reshape(1)
    safetensors.torch.save_file(grads, folder / "gradients.safetensors")


if __name__ == "__main__":
    torch.set_num_threads(1)
    transformers.utils.logging.disable_progress_bar()
    job, where = sys.argv[1], pathlib.Path(sys.argv[2])
    {"model": model, "tokenizer": tokenizer, "grpo": grpo}[job](
        where, sys.argv[3:])
