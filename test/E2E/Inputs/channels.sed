# Converts hybrid.mlir to a model whose heads have a decay for each key.
s/mtp.recurrence.*/& decays_per_key/
s/"in_proj_a" : tensor<4x/"in_proj_a_keys" : tensor<64x/
s/"A_log" : tensor<4x/"A_log_keys" : tensor<64x/
s/"dt_bias" : tensor<4x/"dt_bias_keys" : tensor<64x/
s/%aw : tensor<?x64xf32>, tensor<4x64xf32> -> tensor<?x4xf32>/%aw : tensor<?x64xf32>, tensor<64x64xf32> -> tensor<?x64xf32>/
s/tensor<?x4xf32>, tensor<4xf32>, tensor<4xf32>/tensor<?x64xf32>, tensor<64xf32>, tensor<64xf32>/
s/\(mtp.delta_rule.*\), tensor<?x4xf32>/\1, tensor<?x64xf32>, tensor<?x4xf32>/
