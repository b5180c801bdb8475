//===- ExecExpertKernels.td - Kinds of experts -------------*- tablegen -*-===//

#ifndef EXEC_EXPERT_KERNELS
#define EXEC_EXPERT_KERNELS

include "dialects/Exec/IR/ExecKernels.td"

def Exec_MoeRouteKernel : Exec_Kernel<"MoeRoute", "moe_route", 1, "Rows", (ins
    Exec_Size:$experts, Exec_Size:$top_k, Exec_RouterScoring:$scoring,
    Exec_Flag:$bias, Exec_SizeOrOne:$n_group, Exec_SizeOrNone:$topk_group,
    Exec_Flag:$norm_topk, Exec_RealOrNone:$scale, Exec_Stride:$x_stride)> {
  let summary = "the best experts of each row";
  let description = [{
    Buffers: logits, [bias], experts, weights. Computes the routers of
    DeepSeek-V3 (sigmoid; dropped groups count as -infinity) and Qwen3-MoE
    (softmax) in Hugging Face's library. Experts come in descending order; ties
    go to the lowest index. `topk_group` groups are kept, or with 0 all of them.
    `scale` defaults to 1.
  }];
  let hasRules = true;
  let methods = [{
    int64_t getKeptGroups() const {
      return getTopkGroup() ? getTopkGroup() : getNGroup();
    }
  }];
}

def Exec_MoePlanKernel : Exec_Kernel<"MoePlan", "moe_plan", 1, "Other", (ins
    Exec_Size:$experts, Exec_Size:$top_k)> {
  let summary = "pairs of a row and an expert, in the order of experts";
  let description = [{
    Buffers: positions, experts, the first pair of each expert, order. Padding
    rows are left out, so the products write nothing for their pairs and
    `moe_combine` reads nothing of them.
  }];
}

def Exec_MoeGateUpKernel
    : Exec_Kernel<"MoeGateUp", "moe_gate_up", 1, "Other", (ins
    Exec_Size:$experts, Exec_Size:$k, Exec_Size:$inter,
    Exec_WeightFormat:$format, Exec_Flag:$fragments, Exec_PanelWidth:$panel,
    Exec_Size:$top_k, Exec_Stride:$x_stride)> {
  let summary = "pairs times the gates and ups of their experts";
  let description = "Buffers: x, W (of all experts), starts, order, y.";
  let hasRules = true;
}

def Exec_MoeDownKernel : Exec_Kernel<"MoeDown", "moe_down", 1, "Other", (ins
    Exec_Size:$experts, Exec_Size:$k, Exec_Size:$n, Exec_WeightFormat:$format,
    Exec_Flag:$fragments, Exec_PanelWidth:$panel, Exec_Size:$top_k)> {
  let summary = "pairs times the last projections of their experts";
  let description = "Buffers: x, W (of all experts), starts, order, y.";
  let hasRules = true;
}

def Exec_MoeCombineKernel
    : Exec_Kernel<"MoeCombine", "moe_combine", 1, "Rows", (ins
    Exec_Size:$width, Exec_Size:$top_k, Exec_Flag:$residual,
    Exec_Flag:$shared)> {
  let summary = "the weighted sum of the results of a row's experts";
  let description = [{
    Buffers: positions, weights, results of the experts, [residual], [shared],
    y.
  }];
}

#endif // EXEC_EXPERT_KERNELS
