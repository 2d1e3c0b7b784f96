/* SPDX-License-Identifier: Apache-2.0 */
/* The page: data as JSON, a scatter plot that is drawn in the browser, pictures as they are. */
#include "sim/sweep/page.h"
#include "sim/sweep/answers.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_POINTS = 20000 };

/* JSON inside a script: nothing in it may end that. */
static void put_script(json_t *value, FILE *out)
{
	char *text = json_dumps(value, JSON_COMPACT | JSON_REAL_PRECISION(12) | JSON_ENSURE_ASCII);
	for (const char *at = text; at && *at; at++)
		if (*at == '<')
			fputs("\\u003c", out);
		else
			fputc(*at, out);
	free(text);
	json_decref(value);
}

static void put_html(const char *text, FILE *out)
{
	for (; *text; text++)
		if (*text == '<')
			fputs("&lt;", out);
		else if (*text == '&')
			fputs("&amp;", out);
		else
			fputc(*text, out);
}

static json_t *names_of(const struct sweep_rows *r)
{
	json_t *names = json_array();
	for (unsigned i = 0; i < r->nnames; i++)
		json_array_append_new(names, json_string(r->names[i]));
	return names;
}

/* "sram.size=1MiB", an entry a key of an axis. */
static json_t *place_of(const struct sweep_space *s, uint64_t point)
{
	json_t *at = json_array();
	for (unsigned a = 0; a < s->naxes; a++)
		for (unsigned k = 0; k < s->axes[a].nkeys; k++)
			json_array_append_new(at, json_sprintf("%s=%s", s->axes[a].keys[k],
							       s->axes[a].values[(size_t)k * s->axes[a].count + sweep_index(s, point, a)]));
	return at;
}

/* Of very many the first ones of an even walk over all. */
static json_t *points_of(const struct sweep_rows *r)
{
	char text[4096];
	json_t *points = json_array();
	uint64_t step = r->n / MOST_POINTS + 1;
	for (uint64_t i = 0; i < r->n; i += step) {
		if (r->row[i].status != SWEEP_RUN)
			continue;
		json_t *p = json_object(), *figures = json_array();
		for (unsigned f = 0; f < r->nnames; f++) {
			double v = sweep_rows_figure(r, &r->row[i], f);
			json_array_append_new(figures, isnan(v) ? json_null() : json_real(v));
		}
		json_object_set_new(p, "n", json_integer((json_int_t)r->row[i].point));
		json_object_set_new(p, "at", place_of(r->space, r->row[i].point));
		json_object_set_new(p, "run", json_string(sweep_command(r->space, r->row[i].point, text, sizeof text)));
		json_object_set_new(p, "f", figures);
		json_array_append_new(points, p);
	}
	return points;
}

/* Runs of longest operators, by number of point. */
struct operators {
	const struct sweep_space *space;
	json_t *of;
};

static bool take_operator(void *context, uint64_t point, enum sweep_status status, const json_t *record)
{
	struct operators *o = context;
	const json_t *longest = json_object_get(record, "longest");
	const char *name = json_string_value(json_object_get(longest, "name")), *run = json_string_value(json_object_get(longest, "run"));
	char text[4096], number[24];
	if (status != SWEEP_RUN || !name || !run)
		return true;
	snprintf(number, sizeof number, "%llu", (unsigned long long)point);
	json_object_set_new(o->of, number, json_pack("{s:o,s:s}", "op",
							json_sprintf("%s, %.1f %%", name, 100 * json_number_value(json_object_get(longest, "share"))),
							"with", sweep_command_on(o->space, point, run, text, sizeof text)));
	return true;
}

/* A step has no timeline, its longest operator has. */
static bool add_operators(json_t *points, const struct sweep_rows *r, const char *path, struct npu_error *err)
{
	struct operators o = { r->space, json_object() };
	bool ok = r->space->kind != SWEEP_MODEL || sweep_store_read(path, r->space, take_operator, &o, NULL, err);
	size_t i;
	json_t *p;
	char number[24];
	json_array_foreach(points, i, p) {
		snprintf(number, sizeof number, "%lld", (long long)json_integer_value(json_object_get(p, "n")));
		json_object_update(p, json_object_get(o.of, number));
	}
	json_decref(o.of);
	return ok;
}

static void put_picture(const char *path, FILE *out)
{
	char line[4096];
	FILE *in = fopen(path, "re");
	bool begun = false;
	if (!in)
		return;
	fputs("<figure>", out);
	while (fgets(line, sizeof line, in)) {
		/* Without the lines of an XML file in front. */
		begun = begun || strncmp(line, "<svg", 4) == 0;
		if (begun)
			fputs(line, out);
	}
	fputs("</figure>\n", out);
	fclose(in);
}

static const char style[] =
	"body{font:14px/1.4 system-ui,sans-serif;margin:24px;color:#222;background:#fff}h1{font-size:18px;font-weight:600}"
	"figure{display:inline-block;margin:8px;border:1px solid #ddd}select{font:inherit;margin-right:12px}"
	"#plot{border:1px solid #ddd;display:block;margin:8px 0}#tip{position:fixed;background:#fff;border:1px solid #888;"
	"padding:6px 8px;pointer-events:none;display:none;max-width:480px;font-size:12px;white-space:pre-line}"
	"code{user-select:all;background:#f3f3f3;padding:2px 4px;display:block;margin:4px 0;white-space:pre-wrap}"
	"table{border-collapse:collapse}td,th{padding:2px 12px 2px 0;text-align:right}td:first-child,th:first-child{text-align:left}";

static const char script[] =
	"const W=820,H=420,M=64,s=document.getElementById('plot'),tip=document.getElementById('tip');let pins=[];\n"
	"const sx=document.getElementById('x'),sy=document.getElementById('y');\n"
	"for(const e of [sx,sy])names.forEach((n,i)=>e.add(new Option(n,i)));sx.value=Math.max(0,names.indexOf('sram.peak_bytes'));sy.value=0;\n"
	"const el=(t,a)=>{const e=document.createElementNS('http://www.w3.org/2000/svg',t);for(const k in a)e.setAttribute(k,a[k]);return e};\n"
	"const num=v=>v==null?'-':Number.isInteger(v)?v.toLocaleString('en'):v.toPrecision(5);\n"
	"const tick=v=>{const m=Math.abs(v);return m>=1e6?(v/1e6).toFixed(2)+'M':m>=1e4?(v/1e3).toFixed(0)+'k':m>=100?v.toFixed(0):+v.toPrecision(3)};\n"
	"const trace=p=>' --timeline point-'+p.n+'.pftrace';\n"
	"const again=p=>kind=='run'?[p.run+trace(p)]:p.op?[p.run,'longest operator: '+p.op,p.with+trace(p)]:[p.run];\n"
	"function range(i){const v=points.map(p=>p.f[i]).filter(x=>x!=null);let a=Math.min(...v),b=Math.max(...v);if(!(b>a)){a-=1;b+=1}return[a-(b-a)*.03,b+(b-a)*.03]}\n"
	"function draw(){s.textContent='';const X=+sx.value,Y=+sy.value,[a,b]=range(X),[c,d]=range(Y);\n"
	"const px=v=>M+(v-a)/(b-a)*(W-M-16),py=v=>H-M+16-(v-c)/(d-c)*(H-M-8);\n"
	"for(let k=0;k<=4;k++){const v=a+(b-a)*k/4,w=c+(d-c)*k/4,t=el('text',{x:px(v),y:H-M+34,'text-anchor':'middle','font-size':11});t.textContent=tick(v);s.append(t);\n"
	"const u=el('text',{x:M-6,y:py(w)+4,'text-anchor':'end','font-size':11});u.textContent=tick(w);s.append(u);\n"
	"s.append(el('line',{x1:M,x2:W-16,y1:py(w),y2:py(w),stroke:'#eee'}))}\n"
	"for(const p of points){if(p.f[X]==null||p.f[Y]==null)continue;const on=pins.includes(p),e=el('circle',{cx:px(p.f[X]),cy:py(p.f[Y]),r:on?7:4,fill:on?'#d33':'#36c','fill-opacity':on?1:.45});\n"
	"e.dataset.point=p.n;e.onmousemove=v=>{tip.style.display='block';tip.style.left=Math.min(v.clientX+14,innerWidth-500)+'px';tip.style.top=v.clientY+14+'px';\n"
	"tip.textContent=p.at.join('\\n')+'\\n\\n'+names.map((n,i)=>n+'  '+num(p.f[i])).join('\\n')+'\\n\\n'+again(p).join('\\n')};\n"
	"e.onmouseleave=()=>tip.style.display='none';e.onclick=()=>{pins=pins.includes(p)?pins.filter(q=>q!==p):[...pins.slice(-1),p];draw();compare()};s.append(e)}}\n"
	"function compare(){const t=document.getElementById('pins');t.textContent='';if(!pins.length)return;const T=document.createElement('table');\n"
	"const row=(h,c)=>{const r=T.insertRow();for(const x of [h,...c]){const d=r.insertCell();d.textContent=x}};\n"
	"row('point',pins.map(p=>p.n).concat(pins.length>1?['change']:[]));const keys=pins[0].at.map(w=>w.slice(0,w.indexOf('=')));\n"
	"keys.forEach((k,i)=>row(k,pins.map(p=>p.at[i].slice(k.length+1))));\n"
	"names.forEach((n,i)=>row(n,pins.map(p=>num(p.f[i])).concat(pins.length>1&&pins[0].f[i]?[((pins[1].f[i]/pins[0].f[i]-1)*100).toFixed(1)+' %']:[])));t.append(T);\n"
	"for(const p of pins)for(const a of again(p)){const c=document.createElement(a.startsWith('npusim')?'code':'div');c.textContent=a;t.append(c)}}\n"
	"sx.onchange=sy.onchange=draw;draw();\n";

bool sweep_page(const struct sweep_rows *r, const char *path, const char *const *pictures, FILE *out, struct npu_error *err)
{
	char title[1024];
	json_t *points = points_of(r);
	bool ok = add_operators(points, r, path, err);
	sweep_title(r->space, title, sizeof title);
	fputs("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>", out);
	put_html(title, out);
	fprintf(out, "</title><style>%s</style></head><body>\n<h1>", style);
	put_html(title, out);
	fputs("</h1>\n<p>Hover a point: its configuration and the command that runs it again. Click two: they are compared.</p>\n"
	      "<label>across <select id=\"x\"></select></label><label>up <select id=\"y\"></select></label>\n"
	      "<svg id=\"plot\" width=\"820\" height=\"420\"></svg><div id=\"pins\"></div><div id=\"tip\"></div>\n", out);
	for (; *pictures; pictures++)
		put_picture(*pictures, out);
	fprintf(out, "<script>\nconst kind=\"%s\",names=", r->space->kind == SWEEP_MODEL ? "model" : "run");
	put_script(names_of(r), out);
	fputs(",points=", out);
	put_script(points, out);
	fprintf(out, ";\n%s</script></body></html>\n", script);
	return ok;
}
