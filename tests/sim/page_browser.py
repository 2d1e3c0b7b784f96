#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A headless Chromium as a person at the page: opens it, moves the mouse, presses keys, reads what it shows.

It speaks the DevTools protocol over a pipe, so it needs no port and no package."""
import json
import os
import select
import subprocess
import tempfile
import time


class Browser:
    def __init__(self, chromium, width=1200, height=900):
        to_child, self.write = os.pipe()
        self.read, from_child = os.pipe()
        self.profile = tempfile.TemporaryDirectory()
        arguments = [chromium, '--headless=new', '--no-sandbox', '--disable-gpu', '--hide-scrollbars', '--no-first-run',
                     '--disable-extensions', '--disable-dev-shm-usage', '--disable-background-networking', '--remote-debugging-pipe',
                     '--user-data-dir=' + self.profile.name, f'--window-size={width},{height}', 'about:blank']
        # Chromium reads commands from 3 and writes to 4.
        script = f'exec "$@" 3<&{to_child} 4>&{from_child}'
        self.process = subprocess.Popen(['bash', '-c', script, 'bash'] + arguments, pass_fds=[to_child, from_child],
                                        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_child)
        os.close(from_child)
        self.buffer, self.number, self.events, self.session = b'', 0, [], None
        target = self.call('Target.createTarget', url='about:blank')['targetId']
        self.session = self.call('Target.attachToTarget', targetId=target, flatten=True)['sessionId']
        for domain in 'Page', 'Runtime', 'Log':
            self.call(domain + '.enable')
        self.call('Emulation.setDeviceMetricsOverride', width=width, height=height, deviceScaleFactor=1, mobile=False)

    def close(self):
        try:
            self.session = None
            self.call('Browser.close')
            self.process.wait(10)
        except (OSError, EOFError, subprocess.TimeoutExpired):
            self.process.kill()
            self.process.wait()
        for fd in self.read, self.write:
            os.close(fd)
        self.profile.cleanup()

    def message(self, seconds):
        deadline = time.monotonic() + seconds
        while b'\0' not in self.buffer:
            ready, _, _ = select.select([self.read], [], [], max(deadline - time.monotonic(), 0))
            data = os.read(self.read, 1 << 20) if ready else b''
            if not data:
                raise EOFError('the browser is silent')
            self.buffer += data
        text, self.buffer = self.buffer.split(b'\0', 1)
        return json.loads(text)

    def call(self, method, seconds=120, **params):
        self.number += 1
        command = {'id': self.number, 'method': method, 'params': params}
        if self.session:
            command['sessionId'] = self.session
        os.write(self.write, json.dumps(command).encode() + b'\0')
        while True:
            message = self.message(seconds)
            if message.get('id') == self.number:
                if 'error' in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                return message['result']
            self.events.append(message)

    def run(self, script):
        """The value of an expression in the page; promises are awaited."""
        result = self.call('Runtime.evaluate', expression=script, returnByValue=True, awaitPromise=True)
        if 'exceptionDetails' in result:
            raise RuntimeError(f"{script}: {result['exceptionDetails']}")
        return result['result'].get('value')

    def open(self, path, fragment=''):
        self.events = []
        self.call('Page.navigate', url='file://' + os.path.abspath(path) + fragment)
        while not any(e.get('method') == 'Page.loadEventFired' for e in self.events):
            self.events.append(self.message(120))

    def complaints(self):
        """What the console, the network and the page's scripts complained of since open()."""
        self.run('1')
        bad = ('Runtime.exceptionThrown', 'Runtime.consoleAPICalled', 'Log.entryAdded')
        return [e for e in self.events if e.get('method') in bad]

    def mouse(self, kind, x, y, modifiers=0, **more):
        self.call('Input.dispatchMouseEvent', type=kind, x=x, y=y, modifiers=modifiers, **more)

    def click(self, x, y):
        self.mouse('mouseMoved', x, y)
        self.mouse('mousePressed', x, y, button='left', buttons=1, clickCount=1)
        self.mouse('mouseReleased', x, y, button='left', buttons=0, clickCount=1)

    def drag(self, x0, y0, x1, y1, modifiers=0):
        self.mouse('mouseMoved', x0, y0, modifiers)
        self.mouse('mousePressed', x0, y0, modifiers, button='left', buttons=1, clickCount=1)
        for part in 0.3, 0.7, 1:
            self.mouse('mouseMoved', x0 + (x1 - x0) * part, y0 + (y1 - y0) * part, modifiers, button='left', buttons=1)
        self.mouse('mouseReleased', x1, y1, modifiers, button='left', buttons=0, clickCount=1)

    def key(self, key):
        self.call('Input.dispatchKeyEvent', type='keyDown', key=key, text=key if len(key) == 1 else '')
        self.call('Input.dispatchKeyEvent', type='keyUp', key=key)

    def type(self, text):
        self.call('Input.insertText', text=text)
