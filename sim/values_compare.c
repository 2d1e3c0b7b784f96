/* SPDX-License-Identifier: Apache-2.0 */
/* One output against its reference, element by element. */
#include "isa/number.h"
#include "sim/values_parts.h"

#include <math.h>
#include <stdint.h>

/* FNV-1a over the tensor's bytes in DRAM. */
static uint64_t checksum_of(const struct npu_exec *exec, const struct npu_tensor *t)
{
	uint8_t block[4096];
	uint64_t hash = 0xcbf29ce484222325u, bytes = npu_tensor_bytes(t);
	for (uint64_t at = 0; at < bytes; at += sizeof block) {
		uint64_t n = bytes - at < sizeof block ? bytes - at : sizeof block;
		npu_exec_dram_read(exec, t->addr + at, block, n);
		for (uint64_t i = 0; i < n; i++)
			hash = (hash ^ block[i]) * 0x100000001b3u;
	}
	return hash;
}

void values_describe(const struct values *v, struct values_output *o, const double *got)
{
	o->checksum = checksum_of(v->exec, o->tensor);
	o->min = o->max = NAN;
	o->nans = 0;
	for (uint64_t i = 0; i < o->elements; i++) {
		o->nans += isnan(got[i]) != 0;
		o->min = fmin(o->min, got[i]);
		o->max = fmax(o->max, got[i]);
	}
}

/* As a tensor of type `t` holds it. */
static double rounded(enum npu_dtype t, double x)
{
	uint8_t bytes[8] = { 0 };
	npu_number_set(t, bytes, 0, x);
	return npu_number_get(t, bytes, 0);
}

/* Sums of int32 wrap, as in hardware. */
static double wrapped(enum npu_dtype t, double x)
{
	const double whole = 0x1p32;
	return t == NPU_INT32 && isfinite(x) ? x - whole * floor((x + 0x1p31) / whole) : x;
}

/* What may stand for one element. Rounding keeps order: when the value before it lies in [e - b, e + b], the result
 * lies between these two, rounded. */
struct allowed {
	double least, most;
	double bound; /* the further of the two from e */
};

static struct allowed allowed_of(enum npu_dtype t, double expected, double bound)
{
	struct allowed a = { rounded(t, expected - bound), rounded(t, expected + bound), 0 };
	if (!isfinite(expected))
		a.least = a.most = rounded(t, expected);
	else
		a.bound = fmax(expected - a.least, a.most - expected);
	return a;
}

static bool is_allowed(const struct allowed *a, double got)
{
	return isnan(a->least) ? isnan(got) : got >= a->least && got <= a->most;
}

/* The number of the type that follows `x` upwards or downwards; beyond the last one it is as far as the one before. */
static double neighbour(enum npu_dtype t, double x, bool up)
{
	if (!npu_dtype_is_float(t))
		return up ? x + 1 : x - 1;
	double step = ldexp(1, -149), next;
	/* Half of a step is a tie or nothing, so the first doubling that moves is one step, or two across a power of two. */
	if (x != 0)
		step = fmax(step, ldexp(fabs(x), -54));
	for (next = x; next == x; step *= 2)
		next = rounded(t, up ? x + step : x - step);
	return isfinite(next) ? next : 2 * x - neighbour(t, x, !up);
}

/* How far the value before the last rounding is from `expected` at least, when that rounding gave `got`. */
static double least_error(enum npu_dtype t, double got, double expected)
{
	if (got == rounded(t, expected))
		return 0;
	double edge = (got + neighbour(t, got, got < expected)) / 2;
	return fabs(edge - expected);
}

/* Of what an element may be off before its last rounding, the share that it must have been. */
static double fraction_of(enum npu_dtype t, double got, double expected, double bound, bool right)
{
	if (!isfinite(got) || !isfinite(expected))
		return right ? 0 : INFINITY;
	double error = least_error(t, got, expected);
	if (error == 0)
		return 0;
	if (bound == 0)
		return right ? 0 : INFINITY;
	return right ? fmin(error / bound, 1) : fmax(error / bound, nextafter(1, 2));
}

static double error_of(double got, double expected, const struct allowed *a)
{
	if (isnan(a->least) || !isfinite(a->least) || !isfinite(a->most))
		return is_allowed(a, got) ? 0 : INFINITY; /* no distance that means anything */
	return isnan(got) ? INFINITY : fabs(got - expected);
}

static void judge(struct values_output *o, uint64_t i, double got, double expected, double bound)
{
	struct allowed a = allowed_of(o->tensor->dtype, expected, bound);
	bool right = is_allowed(&a, got);
	double error = error_of(got, expected, &a), fraction = fraction_of(o->tensor->dtype, got, expected, bound, right);
	if (error > o->max_abs || (error == o->max_abs && a.bound > o->abs_bound)) {
		o->max_abs = error;
		o->abs_bound = a.bound;
	}
	if (error > 0 && expected != 0)
		o->max_rel = fmax(o->max_rel, error / fabs(expected));
	if (fraction > o->worst_fraction) {
		o->worst = i;
		o->worst_fraction = fraction;
	}
	if (!right && o->wrong++ == 0) {
		o->first_wrong = i;
		o->got = got;
		o->expected = expected;
		o->bound = a.bound;
	}
}

void values_compare(struct values_output *o, const double *got, const double *expected, const double *bound)
{
	double errors = 0, squares = 0;
	o->compared = true;
	for (uint64_t i = 0; i < o->elements; i++) {
		double e = wrapped(o->tensor->dtype, expected[i]);
		if (bound[i] == INFINITY) {
			o->unjudged++;
			continue;
		}
		judge(o, i, got[i], e, bound[i]);
		if (isfinite(got[i]) && isfinite(e)) {
			errors += (got[i] - e) * (got[i] - e);
			squares += e * e;
		}
	}
	o->rms_rel = errors > 0 ? sqrt(errors / squares) : 0;
}
