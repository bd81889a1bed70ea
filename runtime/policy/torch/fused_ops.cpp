#include "runtime/policy/torch/fused_ops.hpp"

#include "kernels/causal_attention.hpp"
#include "kernels/cpu_kernels.hpp"
#include "kernels/training_kernels.hpp"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/custom_function.h>

#include <cmath>
#include <optional>

namespace swage::fused {

namespace {

using at::Tensor;
using kernels::rows_view;
using torch::autograd::AutogradContext;
using torch::autograd::Function;
using torch::autograd::variable_list;

// Rows that one thread takes at a time. Sums over rows are made of these parts
// in order, so that they do not depend on the number of threads.
constexpr int64_t part_rows = 512;

rows_view view(const Tensor& x) {
  return {x.data_ptr<float>(), x.size(0), x.size(1)};
}

rows_view part_of(rows_view x, int64_t begin, int64_t end) {
  return {x.data + begin * x.stride, end - begin, x.stride};
}

/// Calls body(part, begin, end) for each part of `rows`.
template <class Body>
void for_parts(int64_t rows, Body body) {
  int64_t parts = (rows + part_rows - 1) / part_rows;
  at::parallel_for(0, parts, 1, [&](int64_t first, int64_t last) {
    for (int64_t p = first; p < last; ++p)
      body(p, p * part_rows, std::min(rows, (p + 1) * part_rows));
  });
}

Tensor part_sums(int64_t rows, int64_t size, const Tensor& like) {
  return at::zeros({(rows + part_rows - 1) / part_rows, size}, like.options());
}

struct rms_norm_function : Function<rms_norm_function> {
  static Tensor forward(AutogradContext* context, const Tensor& x,
                        const Tensor& weight, double eps) {
    context->save_for_backward({x, weight});
    context->saved_data["eps"] = eps;
    auto out = at::empty_like(x);
    auto from = view(x), to = view(out);
    auto* w = weight.data_ptr<float>();
    for_parts(x.size(0), [&](int64_t, int64_t begin, int64_t end) {
      kernels::cpu().rms_norm(part_of(from, begin, end), w,
                              part_of(to, begin, end), from.stride,
                              static_cast<float>(eps));
    });
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    auto saved = context->get_saved_variables();
    auto eps = static_cast<float>(context->saved_data["eps"].toDouble());
    auto grad = grads[0].contiguous();
    auto out = at::empty_like(saved[0]);
    auto sums = part_sums(out.size(0), out.size(1), out);
    auto x = view(saved[0]), dy = view(grad), dx = view(out);
    auto* w = saved[1].data_ptr<float>();
    auto* dw = sums.data_ptr<float>();
    for_parts(out.size(0), [&](int64_t part, int64_t begin, int64_t end) {
      kernels::training().rms_norm(
        part_of(x, begin, end), w, part_of(dy, begin, end),
        {part_of(dx, begin, end), dw + part * x.stride}, eps);
    });
    return {out, sums.sum(0), Tensor()};
  }
};

struct split_heads_function : Function<split_heads_function> {
  static variable_list forward(AutogradContext* context, const Tensor& qkv,
                               const Tensor& query_weight,
                               const Tensor& key_weight, const heads& layout) {
    context->save_for_backward({qkv, query_weight, key_weight});
    auto& saved = context->saved_data;
    saved["layout"] = c10::List<int64_t>(
      {layout.queries, layout.keys, layout.dim, layout.length,
       reinterpret_cast<int64_t>(layout.rotary)});
    saved["eps"] = layout.eps;
    auto rows = qkv.size(0);
    auto q = at::empty({rows, layout.queries, layout.dim}, qkv.options());
    auto k = at::empty({rows, layout.keys, layout.dim}, qkv.options());
    auto v = at::empty_like(k);
    float* to[] = {q.data_ptr<float>(), k.data_ptr<float>(),
                   v.data_ptr<float>()};
    const float* weights[] = {query_weight.data_ptr<float>(),
                              key_weight.data_ptr<float>()};
    auto from = view(qkv);
    for_parts(rows, [&](int64_t, int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r)
        split_row(from.data + r * from.stride, to, weights, {layout, r});
    });
    return {q, k, v};
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    auto saved = context->get_saved_variables();
    auto layout = layout_of(context);
    auto rows = saved[0].size(0);
    Tensor given[] = {grads[0].contiguous(), grads[1].contiguous(),
                      grads[2].contiguous()};
    auto out = at::empty_like(saved[0]);
    auto sums = part_sums(rows, 2 * layout.dim, out);
    auto* dw = sums.data_ptr<float>();
    auto from = view(saved[0]), to = view(out);
    const float* grad[] = {given[0].data_ptr<float>(),
                           given[1].data_ptr<float>(),
                           given[2].data_ptr<float>()};
    const float* weights[] = {saved[1].data_ptr<float>(),
                              saved[2].data_ptr<float>()};
    for_parts(rows, [&](int64_t part, int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r)
        join_row({from.data + r * from.stride, nullptr, to.data + r * to.stride,
                  dw + part * 2 * layout.dim},
                 grad, weights, {layout, r});
    });
    auto total = sums.sum(0);
    return {out, total.narrow(0, 0, layout.dim),
            total.narrow(0, layout.dim, layout.dim), Tensor()};
  }

private:
  struct row_place {
    const heads& layout;
    int64_t row;

    int64_t position() const { return row % layout.length; }
    int64_t count(int part) const {
      return part == 0 ? layout.queries : layout.keys;
    }
    int64_t offset(int part) const { return row * count(part) * layout.dim; }
  };

  static heads layout_of(AutogradContext* context) {
    auto list = context->saved_data["layout"].toIntVector();
    return {list[0],
            list[1],
            list[2],
            list[3],
            context->saved_data["eps"].toDouble(),
            reinterpret_cast<const rotary_table*>(list[4])};
  }

  /// One row of qkv to its queries, keys and values.
  static void split_row(const float* from, float* const* to,
                        const float* const* weights, row_place at) {
    auto& layout = at.layout;
    for (int part = 0; part < 3; ++part) {
      auto size = at.count(part) * layout.dim;
      float* row = to[part] + at.offset(part);
      std::copy_n(from, size, row);
      from += size;
      for (int64_t h = 0; part < 2 && h < at.count(part); ++h)
        kernels::cpu().norm_rotate(row + h * layout.dim, weights[part],
                                   layout.dim, static_cast<float>(layout.eps),
                                   layout.rotary->cosines(at.position()),
                                   layout.rotary->sines(at.position()));
    }
  }

  /// The gradients of one row's queries, keys and values to those of its qkv.
  static void join_row(kernels::head_gradient row, const float* const* grads,
                       const float* const* weights, row_place at) {
    auto& layout = at.layout;
    kernels::rotation angles{layout.rotary->cosines(at.position()),
                             layout.rotary->sines(at.position())};
    for (int part = 0; part < 2; ++part)
      for (int64_t h = 0; h < at.count(part); ++h) {
        kernels::training().norm_rotate(
          {row.input, grads[part] + at.offset(part) + h * layout.dim,
           row.input_gradient, row.weight_gradient + part * layout.dim},
          weights[part], angles, layout.dim, static_cast<float>(layout.eps));
        row.input += layout.dim;
        row.input_gradient += layout.dim;
      }
    std::copy_n(grads[2] + at.offset(2), layout.keys * layout.dim,
                row.input_gradient);
  }
};

struct attention_function : Function<attention_function> {
  static Tensor forward(AutogradContext* context, const Tensor& q,
                        const Tensor& k, const Tensor& v, int64_t length) {
    context->save_for_backward({q, k, v});
    context->saved_data["length"] = length;
    auto out = at::empty({q.size(0), q.size(1) * q.size(2)}, q.options());
    for_heads(q, k, length, [&](const place& at) {
      kernels::causal_attention(sequence(q, k, v, at),
                                rows_of(out, at, at.sharing));
    });
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    auto saved = context->get_saved_variables();
    auto& q = saved[0];
    auto& k = saved[1];
    auto grad = grads[0].contiguous();
    auto dq = at::empty_like(q), dk = at::empty_like(k), dv = at::empty_like(k);
    auto length = context->saved_data["length"].toInt();
    for_heads(q, k, length, [&](const place& at) {
      kernels::causal_attention_gradient(
        sequence(q, k, saved[2], at), rows_of(grad, at, at.sharing),
        {rows_of(dq, at, at.sharing), rows_of(dk, at, 1), rows_of(dv, at, 1)});
    });
    return {dq, dk, dv, Tensor()};
  }

private:
  /// One sequence and one head of keys.
  struct place {
    int64_t first_row;
    int64_t length;
    int64_t head;
    int64_t sharing;
    int64_t dim;
  };

  template <class Body>
  static void for_heads(const Tensor& q, const Tensor& k, int64_t length,
                        Body body) {
    auto heads = k.size(1), dim = k.size(2);
    auto sharing = q.size(1) / heads;
    at::parallel_for(
      0, k.size(0) / length * heads, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          body(place{i / heads * length, length, i % heads, sharing, dim});
      });
  }

  /// The rows of a place's `heads` heads.
  static rows_view rows_of(const Tensor& x, const place& at, int64_t heads) {
    auto stride = x.numel() / x.size(0);
    return {x.data_ptr<float>() + at.first_row * stride
              + at.head * heads * at.dim,
            at.length, stride};
  }

  static kernels::attended_sequence sequence(const Tensor& q, const Tensor& k,
                                             const Tensor& v, const place& at) {
    return {rows_of(q, at, at.sharing), rows_of(k, at, 1), rows_of(v, at, 1),
            at.sharing, at.dim};
  }
};

/// y = x w^T, or y += it.
void multiply(const Tensor& x, const Tensor& weight, const Tensor& y,
              bool add) {
  auto outputs = weight.size(0), inputs = weight.size(1);
  auto packed = at::empty({kernels::packed_size(outputs, inputs)},
                          weight.options());
  kernels::cpu().pack(weight.data_ptr<float>(), outputs, inputs,
                      packed.data_ptr<float>());
  kernels::packed_view w{packed.data_ptr<float>(), outputs, inputs};
  auto from = view(x), to = view(y);
  for_parts(from.rows, [&](int64_t, int64_t begin, int64_t end) {
    kernels::cpu().linear(part_of(from, begin, end), w, part_of(to, begin, end),
                          {0, kernels::panel_count(outputs)}, add);
  });
}

struct linear_function : Function<linear_function> {
  static Tensor forward(AutogradContext* context, const Tensor& x,
                        const Tensor& weight,
                        const std::optional<Tensor>& base) {
    context->save_for_backward({x, weight});
    context->saved_data["add"] = base.has_value();
    auto out = base ? base->clone()
                    : at::empty({x.size(0), weight.size(0)}, x.options());
    multiply(x, weight, out, base.has_value());
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    auto saved = context->get_saved_variables();
    auto grad = grads[0].contiguous();
    auto dx = at::empty_like(saved[0]);
    multiply(grad, saved[1].t().contiguous(), dx, false);
    auto dw = grad.t().mm(saved[0]);
    return {dx, dw, context->saved_data["add"].toBool() ? grad : Tensor()};
  }
};

struct gated_unit_function : Function<gated_unit_function> {
  static Tensor forward(AutogradContext* context, const Tensor& x) {
    context->save_for_backward({x});
    auto size = x.size(1) / 2;
    auto out = at::empty({x.size(0), size}, x.options());
    auto from = view(x), to = view(out);
    for_parts(x.size(0), [&](int64_t, int64_t begin, int64_t end) {
      kernels::cpu().silu_multiply(part_of(from, begin, end),
                                   part_of(to, begin, end), size);
    });
    return out;
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    auto saved = context->get_saved_variables();
    auto grad = grads[0].contiguous();
    auto out = at::empty_like(saved[0]);
    auto x = view(saved[0]), dy = view(grad), dx = view(out);
    for_parts(x.rows, [&](int64_t, int64_t begin, int64_t end) {
      kernels::training().silu_multiply(part_of(x, begin, end),
                                        part_of(dy, begin, end),
                                        part_of(dx, begin, end), dy.stride);
    });
    return {out};
  }
};

struct target_logprobs_function : Function<target_logprobs_function> {
  /// Returns log-probabilities and entropies; only the first has a gradient.
  static variable_list forward(AutogradContext* context, const Tensor& logits,
                               const Tensor& targets, double temperature) {
    auto scale = static_cast<float>(1 / temperature);
    auto rows = logits.size(0), size = logits.size(1);
    auto weights = at::empty_like(logits);
    auto sums = at::empty({rows}, logits.options());
    auto out = at::empty({rows}, logits.options());
    auto entropies = at::empty({rows}, logits.options());
    auto from = view(logits), to = view(weights);
    auto* target = targets.data_ptr<int64_t>();
    auto* sum = sums.data_ptr<float>();
    auto* logprob = out.data_ptr<float>();
    auto* entropy = entropies.data_ptr<float>();
    for_parts(rows, [&](int64_t, int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        auto* x = from.data + r * size;
        auto* w = to.data + r * size;
        auto total = kernels::cpu().softmax_row(x, scale, size, w);
        double log_sum = static_cast<double>(total.max) + std::log(total.sum);
        sum[r] = static_cast<float>(total.sum);
        logprob[r] = static_cast<float>(
          static_cast<double>(x[target[r]] * scale) - log_sum);
        entropy[r] = entropy_of(x, w, size, {scale, log_sum, total.sum});
      }
    });
    context->save_for_backward({weights, sums, targets});
    context->saved_data["scale"] = static_cast<double>(scale);
    context->mark_non_differentiable({entropies});
    return {out, entropies};
  }

  static variable_list backward(AutogradContext* context, variable_list grads) {
    auto saved = context->get_saved_variables();
    auto scale = static_cast<float>(context->saved_data["scale"].toDouble());
    auto grad = grads[0].contiguous();
    auto out = at::empty_like(saved[0]);
    auto weights = view(saved[0]), dx = view(out);
    auto* sum = saved[1].data_ptr<float>();
    auto* target = saved[2].data_ptr<int64_t>();
    auto* dy = grad.data_ptr<float>();
    for_parts(dx.rows, [&](int64_t, int64_t begin, int64_t end) {
      for (int64_t r = begin; r < end; ++r) {
        float factor = -dy[r] * scale / sum[r];
        auto* from = weights.data + r * dx.stride;
        auto* to = dx.data + r * dx.stride;
        for (int64_t i = 0; i < dx.stride; ++i)
          to[i] = factor * from[i];
        to[target[r]] += dy[r] * scale;
      }
    });
    return {out, Tensor(), Tensor()};
  }

private:
  struct row_sums {
    float scale;
    double log_sum;
    double sum;
  };

  /// -sum p log p = log_sum - sum p x, with p = w / sum.
  static float entropy_of(const float* x, const float* w, int64_t size,
                          row_sums of) {
    float mean = 0;
#pragma omp simd reduction(+ : mean)
    for (int64_t i = 0; i < size; ++i)
      mean += w[i] * x[i];
    return static_cast<float>(of.log_sum
                              - static_cast<double>(mean)
                                  * static_cast<double>(of.scale) / of.sum);
  }
};

} // namespace

Tensor rms_norm(const Tensor& x, const Tensor& weight, double eps) {
  return rms_norm_function::apply(x.contiguous(), weight, eps);
}

std::array<Tensor, 3> split_heads(const Tensor& qkv, const Tensor& query_weight,
                                  const Tensor& key_weight,
                                  const heads& layout) {
  auto out = split_heads_function::apply(qkv.contiguous(), query_weight,
                                         key_weight, layout);
  return {out[0], out[1], out[2]};
}

Tensor attention(const std::array<Tensor, 3>& qkv, int64_t length) {
  return attention_function::apply(qkv[0], qkv[1], qkv[2], length);
}

Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& base) {
  return linear_function::apply(x.contiguous(), weight,
                                std::optional<Tensor>{base});
}

Tensor linear(const Tensor& x, const Tensor& weight) {
  return linear_function::apply(x.contiguous(), weight,
                                std::optional<Tensor>{});
}

Tensor gated_unit(const Tensor& x) {
  return gated_unit_function::apply(x.contiguous());
}

Tensor target_logprobs(const Tensor& logits,
                       const std::vector<int64_t>& targets, float temperature,
                       std::vector<float>& entropies) {
  auto wanted = at::tensor(targets, at::kLong);
  auto out = target_logprobs_function::apply(
    logits.contiguous(), wanted,
    temperature > 0 ? static_cast<double>(temperature) : 1.0);
  auto* first = out[1].data_ptr<float>();
  entropies.assign(first, first + out[1].numel());
  return out[0];
}

} // namespace swage::fused
