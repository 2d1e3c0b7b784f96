#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Uses the pages of tests/sim/timeline_browser_test.sh as a person would, and compares what they show."""
import csv
import json
import re
import sys

from page_browser import Browser

SHIFT = 8
failures = 0


def check(ok, what):
    global failures
    if not ok:
        failures += 1
        print('FAIL:', what)


def same(got, wanted, what):
    check(got == wanted, f'{what}: {got!r}, not {wanted!r}')


def leaves(value, path=''):
    """Every figure of a report by its path."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, f'{path}.{key}' if path else key)
    elif isinstance(value, list):
        for i, inner in enumerate(value):
            yield from leaves(inner, f'{path}.{i}')
    else:
        yield path, value


def place(browser, text, first=0):
    """Where on the screen the slice of an instruction is whose text begins so, the first from a number on: its middle, and
    its number."""
    return browser.run('''(() => {
        const p = npusim, box = p.draw() >= 0 && document.getElementById('canvas').getBoundingClientRect();
        for (let row = %d; row < p.insn.number.length; row++)
            if (p.textOf(row)[0].startsWith(%s)) {
                const lane = p.lanes[p.insn.firstLane[row]];
                const time = (p.insn.firstFrom[row] + Math.min(p.toPage(p.runOf(row), p.insn.end[row]), p.insn.lastTo[row])) / 2;
                return [box.left + p.X(time), box.top + p.Y(lane) + lane.height / 2, p.insn.number[row]];
            }
    })()''' % (first, json.dumps(text)))


def shows_the_report(browser, report):
    cells = dict(browser.run('''npusim.ready.then(() => [...document.querySelectorAll('#report td[data-path]')].map(
        (td) => [td.dataset.path, [JSON.parse(td.dataset.value), td.textContent]]))'''))
    # A row of zeros and a list of none are not shown.
    for path, value in leaves(report):
        if value in ('', 0) or path.split('.')[0] == 'values' or re.match(r'ideal|hw\.changed', path):
            continue
        check(path in cells, f'{path} is not in the page')
        same(cells.get(path, [None])[0], value, path)
    for path, (value, text) in cells.items():
        if isinstance(value, int) and not isinstance(value, bool):
            same(text, f'{value:,}', f'{path} as text')
        elif path.endswith('_fraction'):
            same(text, f'{100 * value:.1f} %', f'{path} as text')


def shows_the_roofline(browser, roofline):
    """Points and table are those of npusim roofline."""
    rows = table(browser, '#roofline')
    wanted = [roofline['whole'], *roofline['regions']]
    same([row[0] for row in rows[1:]], [p['name'] for p in wanted], 'points of the roofline')
    for row, p in zip(rows[1:], wanted):
        same(row[1:4], [p['cycles'], p['macs'], p['dram_bytes']], f"{p['name']} of the roofline")
        for got, key in zip(row[4:8], ('macs_per_dram_byte', 'gmac_per_s', 'roof_gmac_per_s', 'roof_fraction')):
            check(abs(got - (p[key] or 0)) <= 1e-9 * (p[key] or 1), f"{p['name']} {key}: {got}, not {p[key]}")
        same(row[8], p['below'], f"{p['name']} is below")
    drawn = browser.run("[...document.querySelectorAll('.chart circle title')].map((t) => t.textContent)")
    same(len(drawn), len([p for p in wanted if p['macs_per_dram_byte'] and p['gmac_per_s']]), 'points drawn')
    # Nothing lies above the roof: on the screen the least y of a point is that of the peak or more.
    above = browser.run('''(() => { const roof = document.querySelector('.chart .roof').points, top = roof[1].y;
        return [...document.querySelectorAll('.chart circle')].filter((c) => +c.getAttribute('cy') < top - 0.5).length; })()''')
    same(above, 0, 'points above the roof')


def table(browser, place):
    return browser.run('''[...document.querySelectorAll(%s + ' tr')].map((tr) => [...tr.children].map(
        (td) => td.dataset.value === undefined ? td.textContent : +td.dataset.value))''' % json.dumps(place))


def sums_a_box(browser, report):
    """All of the run by a drag on the ruler: the report's figures by engine, cause and region."""
    left, top, right = browser.run('''(() => { const r = document.getElementById('canvas').getBoundingClientRect();
        return [r.left, r.top, r.right]; })()''')
    browser.drag(left + 159, top + 12, right + 40, top + 14)
    box = browser.run('npusim.box()')
    same((box['from'], box['to']), (0, report['cycles']), 'the box')
    rows = table(browser, '#by-engine')
    same(rows[0][1:], list(report['engines']), 'engines of the box')
    by_cause = {row[0]: dict(zip(rows[0][1:], row[1:])) for row in rows[1:]}
    for engine, figures in report['engines'].items():
        for cause, cycles in [('active', figures['active']), ('busy', figures['busy']), ('idle', figures['idle']),
                              *figures['stalls'].items()]:
            same(by_cause.get(cause, {}).get(engine, 0), cycles, f'{engine} {cause} of the box')
        same(by_cause['total'][engine], report['cycles'], f'{engine} of the box')
    rows = table(browser, '#by-region')
    same({row[0] for row in rows[1:]}, {r['name'] for r in report['regions']}, 'regions of the box')
    for row in rows[1:]:
        region = next(r for r in report['regions'] if r['name'] == row[0])
        figures = dict(zip(rows[0], row))
        for engine, of in region['engines'].items():
            same(figures[engine + ' active'], of['active'], f"{region['name']}: {engine} active")
        for cause in rows[0][1 + len(report['engines']):]:
            total = sum(of[cause] if cause in of else of['stalls'].get(cause, 0) for of in region['engines'].values())
            same(figures[cause], total, f"{region['name']}: {cause}")
    said = browser.run("document.querySelector('#sums p').textContent")
    same(said, f"{report['program']['instructions']:,} instructions start in it, ask DRAM for "
               f"{report['dram']['read_bytes'] + report['dram']['write_bytes']:,} bytes and make {report['macs']:,} MACs",
         'what starts in the box')
    # A part of it, over the lanes of one engine: as many cycles as the box is long.
    x, y, _ = place(browser, 'matmul', 100)
    browser.drag(x - 100, y - 4, x + 200, y + 4, SHIFT)
    box = browser.run('npusim.box()')
    rows = table(browser, '#by-engine')
    same(rows[0], ['cycles', 'matrix'], 'the box on one lane')
    same(rows[-1], ['total', box['to'] - box['from']], 'cycles of the box')
    browser.key('Escape')
    check(browser.run("document.getElementById('sums').hidden && npusim.box() === null"), 'Escape leaves the box')


def hovers_and_selects(browser, rows):
    x, y, number = place(browser, 'matmul', 100)
    row = rows[number]
    browser.mouse('mouseMoved', x, y)
    tip = browser.run("document.getElementById('tip').hidden ? '' : document.getElementById('tip').innerText")
    for want in (re.sub(' +', ' ', row['text']), row['source'], row['region'], f"{int(row['start_cycle']):,}",
                 f"{int(row['end_cycle']):,}", f"{int(row['macs']):,}", 'fp16 by fp16',
                 f"{int(row['end_cycle']) - int(row['start_cycle']):,} cycles"):
        check(want and want in tip, f'the tip says {want!r}: {tip!r}')
    x, y, number = place(browser, 'load', 100)
    browser.mouse('mouseMoved', x, y)
    tip = browser.run("document.getElementById('tip').innerText")
    for want in f"{int(rows[number]['dram_bytes']):,} of DRAM", 'rows' in rows[number]['text'] and ' x ':
        check(want in tip, f'the tip says {want!r}: {tip!r}')

    x, y, number = place(browser, 'matmul', 100)
    row = rows[number]
    browser.click(x, y)
    same(browser.run('npusim.insn.number[npusim.selected()]'), number, 'the instruction clicked on')
    detail = browser.run("document.getElementById('detail').innerText")
    stalls = {k[:-len('_cycles')]: int(v) for k, v in row.items()
              if k.endswith('_cycles') and k != 'busy_cycles' and int(v) > 0}
    said = re.search(r'stalls\s+(.*)', detail)
    said = {s.split()[0]: int(s.split()[1].replace(',', '')) for s in said[1].split(', ')} if said else {}
    same(said, stalls, 'stalls of the instruction')
    # Whom it waited for: the names of its waits, posted by the one who is named.
    listed = browser.run("[...document.querySelectorAll('#detail button')].map((b) => b.textContent)")
    check(listed, 'somebody is named')
    waits = re.search(r'wait (.*?)(   |$)', row['text'])[1].split(', ')
    check(all(any(re.search(r'post .*' + re.escape(w), text) for text in listed) for w in waits),
          f'{waits} in {listed}')
    posts = re.search(r'post (.*)$', row['text'])[1].split(', ')
    check(all(any(re.search(r'wait .*' + re.escape(p), text) for text in listed) for p in posts),
          f'{posts} in {listed}')
    on_engine = [int(r['instruction']) for r in rows if r['engine'] == row['engine']]
    browser.key('.')
    same(browser.run('npusim.insn.number[npusim.selected()]'), on_engine[on_engine.index(number) + 1], 'the next on its engine')
    browser.key(',')
    same(browser.run('npusim.insn.number[npusim.selected()]'), number, 'and back')
    # The first of them is a link.
    browser.run("document.querySelector('#detail button').click()")
    same('#%d ' % browser.run('npusim.insn.number[npusim.selected()]'), listed[0].split()[0] + ' ', 'where the link leads')
    browser.key('Escape')
    same(browser.run('npusim.selected()'), -1, 'Escape selects nothing')


def zooms_and_pans(browser, cycles):
    view = lambda: browser.run('[npusim.shown.from, npusim.shown.to]')
    x, y, _ = place(browser, 'matmul', 100)
    browser.key('f')
    same(view(), [0, cycles], 'all')
    time = lambda: browser.run('''(() => { npusim.draw(); const r = document.getElementById('canvas').getBoundingClientRect();
        const hit = npusim.at(%f - r.left, %f - r.top); return hit && hit.time; })()''' % (x, y))
    before = time()
    browser.mouse('mouseWheel', x, y, deltaX=0, deltaY=-300)
    near = view()
    check(near[1] - near[0] < 0.6 * cycles, f'the wheel zooms in: {near}')
    check(abs(time() - before) < (near[1] - near[0]) / 500, f'the cycle under the pointer stays: {before}, {time()}')
    browser.mouse('mouseWheel', x, y, deltaX=0, deltaY=120, modifiers=SHIFT)
    panned = view()
    check(panned[0] > near[0] and abs((panned[1] - panned[0]) - (near[1] - near[0])) < 1e-6, f'shift pans: {panned}')
    browser.drag(x, y, x + 150, y)
    dragged = view()
    check(dragged[0] < panned[0], f'a drag pans: {dragged}')
    browser.key('w')
    closer = view()
    check(closer[1] - closer[0] < dragged[1] - dragged[0], f'w zooms in: {closer}')
    browser.key('d')
    check(view()[0] > closer[0], 'd pans')
    browser.key('a')
    check(abs(view()[0] - closer[0]) < 1, 'a pans back')
    browser.key('s')
    check(view()[1] - view()[0] > closer[1] - closer[0], 's zooms out')
    browser.key('f')
    same(view(), [0, cycles], 'f shows all')
    for _ in range(60):
        browser.mouse('mouseWheel', x, y, deltaX=0, deltaY=-400)
    check(view()[1] - view()[0] >= 8, 'there is an end to zooming')
    browser.key('f')


def searches(browser, rows):
    browser.key('/')
    same(browser.run('document.activeElement.id'), 'search', '/ goes to the search')
    browser.type('vsoftmax')
    wanted = [int(r['instruction']) for r in rows if 'vsoftmax' in r['text']]
    found = browser.run('npusim.matches().rows.map((r) => npusim.insn.number[r])')
    same(sorted(found), wanted, 'what is found')
    browser.call('Input.dispatchKeyEvent', type='keyDown', key='Enter')
    same(browser.run('npusim.insn.number[npusim.selected()]'), found[0], 'Enter goes to the first')
    check('1 of %d' % len(wanted) in browser.run("document.getElementById('found').textContent"), 'which of how many')
    for query, hit in [('sram:0x40000', lambda r: 'sram:0x40000' in r['text']), ('#7', lambda r: r['instruction'] == '7'),
                       (rows[9]['source'], lambda r: r['source'] == rows[9]['source']),
                       ('ROWS=128 cols=64', lambda r: 'rows=128 cols=64' in r['text']), ('no such thing', lambda r: False)]:
        found = browser.run('npusim.search(%s).then(() => npusim.matches().rows.map((r) => npusim.insn.number[r]))'
                            % json.dumps(query))
        same(sorted(found), [int(r['instruction']) for r in rows if hit(r)], f'what is found by {query}')
    browser.run("document.getElementById('search').value = ''; npusim.search('')")
    browser.run("document.getElementById('view').focus()")
    browser.key('Escape')


def pixels(browser):
    """How many pixels of each colour the lanes have."""
    return browser.run('''(() => { npusim.draw(); const c = document.getElementById('canvas');
        const d = c.getContext('2d').getImageData(159, 27, c.width - 159, c.height - 27).data, seen = {};
        for (let i = 0; i < d.length; i += 4) { const k = (d[i] << 16 | d[i + 1] << 8 | d[i + 2]).toString(16).padStart(6, '0');
            seen[k] = (seen[k] || 0) + 1; } return seen; })()''')


def draws(browser):
    colour = lambda name: browser.run("getComputedStyle(document.documentElement).getPropertyValue('--%s').trim().slice(1)" % name)
    seen = pixels(browser)
    stall, path = colour('dram_bandwidth'), colour('critical')
    check(seen.get(stall, 0) > 500, 'a cause is drawn in its colour')
    same(seen.get(path, 0), 0, 'pixels of the critical path without it')
    browser.run("document.querySelector('#legend button[data-state=dram_bandwidth]').click()")
    same(pixels(browser).get(stall, 0), 0, 'pixels of a cause that the legend hides')
    browser.run("document.querySelector('#legend button[data-state=dram_bandwidth]').click()")
    browser.key('c')
    check(pixels(browser).get(path, 0) > 500, 'the critical path is drawn')
    browser.key('c')
    paper = pixels(browser)
    browser.run("document.getElementById('theme').click()")
    dark = pixels(browser)
    check(max(paper, key=paper.get) != max(dark, key=dark.get), 'light and dark differ')
    browser.run("document.getElementById('theme').click()")
    # The selected one has an arrow from whom it waited for.
    black = seen.get('111111', 0)
    x, y, _ = place(browser, 'matmul', 100)
    browser.click(x, y)
    check(pixels(browser).get('111111', 0) > black + 50, 'arrows are drawn')
    browser.key('Escape')


def compares(browser, reports):
    """Two runs: figures of both, sums of both, what begins together, and what a region that is chosen does."""
    browser.open('both.html')
    browser.run('npusim.ready')
    end = browser.run('npusim.shown.to')
    check(max(r['cycles'] for r in reports) <= end <= sum(r['cycles'] for r in reports), f'{end} cycles are shown')
    left, top, right = browser.run('''(() => { const r = document.getElementById('canvas').getBoundingClientRect();
        return [r.left, r.top, r.right]; })()''')
    browser.drag(left + 159, top + 12, right + 40, top + 14)
    rows = table(browser, '#by-engine')
    by_cause = {row[0]: dict(zip(rows[0][1:], row[1:])) for row in rows[1:]}
    for letter, report in zip('AB', reports):
        for engine, figures in report['engines'].items():
            for cause, cycles in [('active', figures['active']), ('busy', figures['busy']), ('idle', figures['idle']),
                                  *figures['stalls'].items(), ('total', report['cycles'])]:
                same(by_cause.get(cause, {}).get(f'{letter} {engine}', 0), cycles, f'{letter} {engine} {cause} of the box')
        cells = dict(browser.run('''[...document.querySelectorAll('#report td[data-run=%s]')].map(
            (td) => [td.dataset.path, JSON.parse(td.dataset.value)])''' % letter))
        for path, value in leaves({k: report[k] for k in ('cycles', 'engines', 'dram', 'overlap', 'energy', 'sram')}):
            if value:
                same(cells.get(path), value, f'{letter} {path}')
    said = browser.run("document.querySelector('#sums p:nth-of-type(3)').textContent")
    same(said.split(' ')[0], f"{sum(r['program']['instructions'] for r in reports):,}", 'instructions of both')
    browser.key('Escape')

    # The table: lengths are those of the instructions' own times.
    rows = table(browser, '#pairs')
    longest = {}
    for letter, name in zip('AB', ('run.csv', 'other.csv')):
        with open(name, newline='') as file:
            for row in csv.DictReader(file):
                if row['region']:
                    start, stop = int(row['start_cycle']), int(row['end_cycle'])
                    of = longest.setdefault(row['region'], {}).setdefault(letter, [start, stop])
                    of[:] = min(of[0], start), max(of[1], stop)
    common = {name: of for name, of in longest.items() if len(of) == 2}
    same({row[0] for row in rows[1:]}, set(common), 'regions of both')
    for name, a_from, a, b_from, b, difference, together in rows[1:]:
        of = common[name]
        same([a_from, a, b_from, b, difference], [of['A'][0], of['A'][1] - of['A'][0], of['B'][0], of['B'][1] - of['B'][0],
             (of['B'][1] - of['B'][0]) - (of['A'][1] - of['A'][0])], f'{name} of both')
        same(together, 'yes', f'{name} begins together')
    shown = browser.run('npusim.pairs.map((p) => [p.path, p.shown.from[0], p.shown.from[1]])')
    check(all(a == b for _, a, b in shown), f'what is shown beginning together: {shown}')
    # Its link goes to it; chosen, it alone is together, and the runs' own lengths are shown.
    name, a, b = shown[len(shown) // 2]
    browser.run("[...document.querySelectorAll('#pairs button.link')].find((e) => e.textContent === %s).click()" % json.dumps(name))
    view = browser.run('[npusim.shown.from, npusim.shown.to]')
    check(view[0] <= a < view[1] < end, f'{name} is looked at: {view}')
    for way, together in (name, {name}), ('start', set()):
        number = browser.run('npusim.pairs.findIndex((p) => p.path === %s)' % json.dumps(way))
        browser.run('''(() => { const s = document.getElementById('alignment'); s.value = %s;
            s.dispatchEvent(new Event('change')); })()''' % json.dumps(way if number < 0 else str(number)))
        shown = browser.run('npusim.pairs.map((p) => [p.path, p.shown.from[0], p.shown.from[1]])')
        check(together <= {n for n, x, y in shown if x == y} and any(x != y for n, x, y in shown), f'{way} is together: {shown}')
        same(browser.run('''(() => { const s = npusim.sumUp(0, 1e15, npusim.runs.flatMap((r) => [0, 1, 2, 3].map((e) => e + 4 * r.number)));
            return s.states.map((e) => e.reduce((a, n) => a + n, 0)); })()'''),
            [r['cycles'] for r in reports for _ in range(4)], f'cycles with {way} together')
    # g: the region of what is selected.
    browser.key('f')
    x, y, _ = place(browser, 'matmul', 30)
    browser.click(x, y)
    browser.key('g')
    chosen = browser.run("document.getElementById('alignment').selectedOptions[0].textContent")
    same(chosen, browser.run('npusim.regions.path[npusim.regions.row[npusim.insn.region[npusim.selected()]]]'), 'g takes the region')
    detail = browser.run("document.getElementById('detail').innerText")
    check(re.search(r'^[AB] #\d+ matmul', detail), f'whose it is: {detail!r}')
    browser.key('g')
    same(browser.run("document.getElementById('alignment').value"), 'regions', 'g again takes all')
    # A band joins what belongs together.
    accent = browser.run("getComputedStyle(document.documentElement).getPropertyValue('--accent').trim().slice(1)")
    browser.key('Escape')
    check(pixels(browser).get(accent, 0) > 20, 'regions are joined')
    same(browser.complaints(), [], 'complaints of both.html')


def main():
    with open('run.json') as file:
        report = json.load(file)
    with open('run.csv', newline='') as file:
        rows = list(csv.DictReader(file))
    browser = Browser(sys.argv[1])
    try:
        browser.open('run.html')
        shows_the_report(browser, report)
        with open('roofline.json') as file:
            shows_the_roofline(browser, json.load(file))
        sums_a_box(browser, report)
        hovers_and_selects(browser, rows)
        zooms_and_pans(browser, report['cycles'])
        searches(browser, rows)
        same(browser.complaints(), [], 'complaints of run.html')
        draws(browser)

        browser.open('part.html', '#t=12000:13000&critical&theme=dark&box=12100:12200')
        same(browser.run('[npusim.shown.from, npusim.shown.to]'), [12000, 13000], 'the part asked for')
        same(table(browser, '#by-engine')[-1][1:], [100] * 4, 'cycles of the box asked for')
        with open('part.txt') as file:
            dropped = re.search(r'(\d+) slices and (\d+) values', file.read())
        said = browser.run("document.getElementById('subtitle').textContent").replace(',', '')
        check(f'cycles 10000 to 20000: {dropped[1]} slices and {dropped[2]} values' in said, said)
        same(browser.run('''(() => { const s = npusim.sumUp(0, npusim.meta.cycles, [0, 1, 2, 3]);
            return s.states.map((e) => e.reduce((a, n) => a + n, 0)); })()'''), [10000] * 4, 'cycles of the part')
        same(browser.complaints(), [], 'complaints of part.html')

        browser.open('names.html')
        browser.run('npusim.ready')
        title = browser.run('document.title')
        check(title.startswith('npusim: names.npu'), title)
        same(browser.run("document.querySelectorAll('img').length + document.querySelectorAll('body script').length"),
             1, 'elements that names could have made')  # the page's own script; the data are taken out
        check('onerror=' in browser.run("document.getElementById('report').textContent"), 'names are shown')
        x, y, _ = place(browser, 'load')
        browser.click(x, y)
        check('</script>' in browser.run("document.getElementById('detail').textContent"), 'and in the text')
        same(browser.complaints(), [], 'complaints of names.html')

        with open('other.json') as file:
            compares(browser, [report, json.load(file)])

        browser.open('least.html')
        for width in 1200, 300, 90:  # less than the names of the lanes take
            browser.call('Emulation.setDeviceMetricsOverride', width=width, height=400, deviceScaleFactor=2, mobile=False)
            browser.run("document.getElementById('view').focus()")
            for key in 'wasdfc/':
                browser.key(key)
            check(browser.run('npusim.draw()') < 5000, f'{width} pixels are drawn')
        same(browser.complaints(), [], 'complaints of least.html')
    finally:
        browser.close()
    print(f'{failures} failures')
    return failures > 0


sys.exit(main())
