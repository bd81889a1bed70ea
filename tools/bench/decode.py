"""What tools/bench/decode runs; its help says what is measured."""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

GROUP, PROMPT, BATCHES = 8, 32, (64, 128)


class Ours:
    """The C++ program: one request and one answer a line."""

    def __init__(self, program, folder):
        self.process = subprocess.Popen(
            [program, str(folder)], stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True)
        self.ask({})  # The weights are written when it answers.

    def ask(self, request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        line = self.process.stdout.readline()
        if not line:
            sys.exit("decode: bench-decode stopped; see its message above")
        return json.loads(line)


def prompts_of(batch, vocabulary):
    """Tokens that every group has for itself."""
    return [[2 + (31 * (i // GROUP) + 7 * t) % (vocabulary - 2)
             for t in range(PROMPT)] for i in range(batch)]


def reference(torch, network, prompts, count):
    """Seconds that Hugging Face takes for the same work."""
    tokens = torch.tensor(prompts)
    start = time.perf_counter()
    with torch.inference_mode():
        out = network.generate(
            tokens, attention_mask=torch.ones_like(tokens), do_sample=True,
            temperature=1.0, top_k=0, top_p=1.0, max_new_tokens=count,
            min_new_tokens=count, eos_token_id=None, pad_token_id=0)
    seconds = time.perf_counter() - start
    assert out.shape == (len(prompts), PROMPT + count), out.shape
    return seconds


def difference(torch, network, prompts, answer):
    """The largest difference of a token's log-probability."""
    worst = 0.0
    with torch.inference_mode():
        for prompt, tokens, logprobs in zip(prompts, answer["tokens"],
                                            answer["logprobs"]):
            logits = network(torch.tensor([prompt + tokens])).logits[0]
            scores = torch.log_softmax(logits[len(prompt) - 1:-1], -1)
            scores = scores.gather(1, torch.tensor(tokens)[:, None])[:, 0]
            worst = max(worst, float(
                (scores - torch.tensor(logprobs)).abs().max()))
    return worst


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, prog="tools/bench/decode",
        formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", help=argparse.SUPPRESS)
    parser.add_argument("--reduced", action="store_true")
    parser.add_argument("--rounds", type=int, default=7)
    options = parser.parse_args()
    rounds = 2 if options.reduced else options.rounds
    count = 64 if options.reduced else 128

    import torch
    import transformers
    torch.set_num_threads(1)
    transformers.utils.logging.disable_progress_bar()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        config = json.loads(
            pathlib.Path("configs/quickstart/config.json").read_text())
        # Nothing ends a response early: both do the same work.
        config["eos_token_id"] = None
        (folder / "config.json").write_text(json.dumps(config))
        ours = Ours(options.program, folder)
        network = transformers.Qwen3ForCausalLM.from_pretrained(
            folder, dtype=torch.float32).eval()
        result = {"ratio": None, "ratios": {}, "tokens_per_second": {},
                  "reference_tokens_per_second": {},
                  "logprob_difference": 0.0, "rounds": rounds}
        for batch in BATCHES:
            prompts = prompts_of(batch, config["vocab_size"])
            request = {"prompts": prompts, "count": count}
            # Warm-up, and the proof that both compute the same thing.
            answer = ours.ask(request)
            result["logprob_difference"] = max(
                result["logprob_difference"],
                difference(torch, network, prompts, answer))
            reference(torch, network, prompts, 8)
            mine, theirs = [], []
            for i in range(rounds):
                mine.append(ours.ask(request)["seconds"])
                theirs.append(reference(torch, network, prompts, count))
                print(f"decode: {batch} sequences, round {i + 1}: "
                      f"{batch * count / mine[-1]:.0f} against "
                      f"{batch * count / theirs[-1]:.0f} tokens/s", flush=True)
            ratios = [b / a for a, b in zip(mine, theirs)]
            result["ratios"][batch] = round(statistics.median(ratios), 3)
            for key, times in (("tokens_per_second", mine),
                               ("reference_tokens_per_second", theirs)):
                result[key][batch] = round(
                    batch * count / statistics.median(times))
        result["ratio"] = min(result["ratios"].values())
    print(json.dumps(result))
    return 0 if result["logprob_difference"] <= 1e-4 else 1


if __name__ == "__main__":
    sys.exit(main())
