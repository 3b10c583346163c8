#include <array>

#include "sim/app/verbs.hpp"

namespace tessera {

std::span<const Verb> verbs() {
  static constexpr std::array kVerbs{
      Verb{"calibrate", "fit the latency models on measured kernels, or shift them to one GPU's measurements",
           "tessera calibrate --data measurements --out my-weights\n"
           "  tessera calibrate --gpu L40S --measurements my-kernels.csv --out platforms/profiles/my-l40s.yaml",
           make_calibrate},
      Verb{"check", "find the mistakes in a scenario without running it", "tessera check scenarios/quickstart.yaml",
           make_check},
      Verb{"import", "make a scenario of Megatron-LM's options",
           "tessera import pretrain.sh --cluster dgx-h100 --out my-run", make_import},
      Verb{"list", "what there is: platforms, models, policies, operators, latency-models", "tessera list platforms",
           make_list},
      Verb{"microbench", "measure this machine's GPU with CUDA kernels; --plan says what would run",
           "tessera microbench --gpu H100-SXM-80GB --plan\n"
           "  tessera microbench --gpu H100-SXM-80GB --out measured/H100 --date 2026-05-31",
           make_microbench},
      Verb{"predict", "the time of one operator or one model on one GPU",
           "tessera predict --gpu H100-SXM-80GB gemm --m 4096 --n 4096 --k 4096 --dtype bf16\n"
           "  tessera predict --gpu H100-SXM-80GB --model llama-2-7b --batch 8 --seq 2048",
           make_predict},
      Verb{"reproduce", "repeat a paper's experiments on its published measurements: neusight, phaze",
           "tessera reproduce neusight --data measurements", make_reproduce},
      Verb{"search", "the best accelerator and placement for training, with a certificate",
           "tessera search scenarios/studies/llama2-accelerator.yaml --time-budget 60", make_search},
      Verb{"simulate", "run scenarios: time, memory, energy, and a timeline of each run",
           "tessera simulate scenarios/quickstart.yaml --set runs.train.workload.micro_batch=2", make_simulate},
      Verb{"validate", "hold predictions against measurements in CSV files",
           "tessera validate models.csv --where split=headline,suspect=0 --by gpu", make_validate},
  };
  return kVerbs;
}

}  // namespace tessera
