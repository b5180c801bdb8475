// RUN: mtp-opt %s --split-input-file --verify-diagnostics

// An op's old name is an error that names the new one (runtime/schema/OldNames.h).

func.func @mtp_regroup() {
  // expected-error @+1 {{custom op 'mtp.regroup' is now 'mtp.reshape'}}
  mtp.regroup
  return
}

// -----

func.func @mtp_take_rows() {
  // expected-error @+1 {{custom op 'mtp.take_rows' is now 'mtp.gather_rows'}}
  mtp.take_rows
  return
}

// -----

func.func @mtp_pick_residual() {
  // expected-error @+1 {{custom op 'mtp.pick_residual' is now 'mtp.sample_residual'}}
  mtp.pick_residual
  return
}

// -----

func.func @mtp_exclude() {
  // expected-error @+1 {{custom op 'mtp.exclude' is now 'mtp.mask_tokens'}}
  mtp.exclude
  return
}

// -----

func.func @exec_regroup() {
  // expected-error @+1 {{custom op 'exec.regroup' is now 'exec.reshape'}}
  exec.regroup
  return
}

// -----

func.func @exec_pick_residual() {
  // expected-error @+1 {{custom op 'exec.pick_residual' is now 'exec.sample_residual'}}
  exec.pick_residual
  return
}

// -----

func.func @exec_exclude() {
  // expected-error @+1 {{custom op 'exec.exclude' is now 'exec.mask_tokens'}}
  exec.exclude
  return
}

// -----

func.func @exec_nearest_task() {
  // expected-error @+1 {{custom op 'exec.nearest_task' is now 'exec.clamp_task'}}
  exec.nearest_task
  return
}

// -----

func.func @exec_attention_parts() {
  // expected-error @+1 {{custom op 'exec.attention_parts' is now 'exec.attention_split_kv'}}
  exec.attention_parts
  return
}

// -----

func.func @exec_attention_join() {
  // expected-error @+1 {{custom op 'exec.attention_join' is now 'exec.attention_combine'}}
  exec.attention_join
  return
}

// -----

func.func @unknown() {
  // expected-error @+1 {{custom op 'mtp.no_op' is unknown}}
  mtp.no_op
  return
}
