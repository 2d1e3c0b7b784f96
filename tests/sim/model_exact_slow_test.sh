#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# npusim model counts layers of a kind once and draws long operators out; --exact runs every operator of every layer in full, at its own
# addresses. Over models, machines, phases and types both agree within 2 % in cycles and 1 % in energy, and in bytes to the byte;
# of either, cycles of each engine add up to all of them, and none is below 0.
. "$SRC/tests/support/cli.sh" || exit 1
. "$SRC/tests/support/json.sh" || exit 1

# agree MODEL ARGUMENT...
agree() {
    "$NPUSIM" model "$@" --report counted.json >/dev/null 2>err && "$NPUSIM" model "$@" --exact --report exact.json >/dev/null 2>err ||
        fail "$*: $(cat err)"
    checks=$((checks + 2))
    json_adds_up counted.json || fail "$*: the counted figures do not add up"
    json_adds_up exact.json || fail "$*: the exact figures do not add up"
    local key bound one other
    for key in cycles:0.02 energy_uj:0.01 macs:1e-9 dram_read_bytes:1e-6 dram_write_bytes:1e-6; do
        bound=${key#*:} key=${key%:*}
        checks=$((checks + 1))
        one=$(json_value "total.$key" counted.json) other=$(json_value "total.$key" exact.json)
        awk "BEGIN { d = $one / $other - 1; exit !(d <= $bound && -d <= $bound) }" || fail "$*: $key $one, exact $other"
    done
}

agree stories260k context=64
agree stories260k context=64 --hw edge-2mb
agree stories260k context=64 --hw server
agree stories260k phase=prefill context=200 --hw edge-2mb
agree stories260k batch=5 context=200 context_min=20 kv=int8 --hw edge-2mb
agree smollm2-135m context=1000 weights=int8 kv=int4 batch=3 --hw edge-2mb
agree smollm2-135m context=1000 weights=int4 kv=int8
agree smollm2-135m context=500 weights=int4 --hw server
agree smollm2-135m phase=prefill context=500 weights=int8 --hw edge-2mb
# A window in two of three layers, and one that is not.
cat >small.json <<'END'
{"model_type": "gemma2", "hidden_size": 512, "num_hidden_layers": 3, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 128,
 "vocab_size": 8000, "intermediate_size": 2048, "sliding_window": 256, "attn_logit_softcapping": 50.0}
END
agree small.json phase=prefill context=700 weights=int4 --hw edge-2mb
# Experts, of which a step takes 8 of 16, and a latent cache.
cat >latent.json <<'END'
{"model_type": "deepseek_v2", "hidden_size": 512, "num_hidden_layers": 3, "num_attention_heads": 8, "vocab_size": 8000, "intermediate_size": 2048,
 "kv_lora_rank": 256, "q_lora_rank": null, "qk_nope_head_dim": 64, "qk_rope_head_dim": 32, "v_head_dim": 64, "n_routed_experts": 16,
 "n_shared_experts": 1, "num_experts_per_tok": 4, "moe_intermediate_size": 256, "first_k_dense_replace": 1}
END
agree latent.json context=600 batch=2 weights=int8 kv=int8 --hw edge-2mb
agree latent.json phase=prefill context=300 --hw edge-2mb

[ $failures = 0 ] && echo "$checks checks of counted and exact figures"
[ $failures = 0 ]
