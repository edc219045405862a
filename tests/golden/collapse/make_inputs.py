#!/usr/bin/env python3
"""Writes the binary inputs (in) of the golden cases beside it: small files of
our own in the formats of other profilers, byte by byte as their sources say
(named in collapse/FORMAT.c). Run it after changing it; tests need no Python."""
import json, marshal, os, struct

here = os.path.dirname(os.path.abspath(__file__))


def case(name, data, options=''):
    folder = os.path.join(here, name)
    os.makedirs(folder, exist_ok=True)
    with open(os.path.join(folder, 'in'), 'wb') as f:
        f.write(data if isinstance(data, bytes) else data.encode())
    with open(os.path.join(folder, 'cmd'), 'w') as f:
        f.write(f'collapse {options + " " if options else ""}in\n')


def js(value):
    return json.dumps(value, indent=1) + '\n'


# ---- JSON ----

def node(i, name, children=(), url='', hits=0):
    return {'id': i, 'callFrame': {'functionName': name, 'url': url, 'lineNumber': 4},
            'hitCount': hits, 'children': list(children)}


profile = {'nodes': [node(1, '(root)', [2, 4]), node(2, 'main', [3]), node(3, '', [], 'app.js'),
                     node(4, '(idle)')],
           'startTime': 1000, 'endTime': 1100, 'samples': [2, 3, 3, 4], 'timeDeltas': [10, 20, 5, 15]}
case('cpuprofile-samples', js(profile))
case('cpuprofile-time', js(profile), '--value time --srcline')
case('cpuprofile-nested', js({'head': {'functionName': '(root)', 'hitCount': 0, 'children': [
    {'functionName': 'a', 'url': 'x.js', 'lineNumber': 3, 'hitCount': 2, 'children': [
        {'functionName': 'b;c', 'hitCount': 40, 'children': []}]},
    {'children': [], 'hitCount': 1, 'functionName': ''}]}}))
case('heapprofile', js({'head': {'callFrame': {'functionName': '(root)'}, 'selfSize': 0, 'children': [
    {'callFrame': {'functionName': 'f', 'url': 'f.js'}, 'selfSize': 100, 'id': 2, 'children': [
        {'children': [], 'callFrame': {'functionName': 'g'}, 'selfSize': 28}]}]}}))
case('chrome-trace-cut', '[\n'
     '{"ph":"M","name":"thread_name","pid":1,"tid":"7","args":{"name":"main \\u00e9\\ud83d\\ude00"}},\n'
     '{"ph":"B","name":"a","pid":1,"tid":7,"ts":0.5},\n'
     '{"ph":"X","name":"b","pid":1,"tid":7,"ts":1,"dur":2.25},\n'
     '{"ph":"E","name":"never begun","pid":1,"tid":7,"ts":2},\n'
     '{"ph":"E","name":"a","pid":1,"tid":7,"ts":5},\n'
     '{"ph":"B","name":"cut off","pid":1,"ti')
case('chrome-trace-chunks', js({'traceEvents': [
    {'ph': 'P', 'name': 'Profile', 'id': '0x1', 'pid': 3, 'tid': 4, 'args': {'data': {'startTime': 5}}},
    {'ph': 'P', 'name': 'ProfileChunk', 'id': '0x1', 'pid': 3, 'tid': 9, 'args': {'data': {
        'cpuProfile': {'nodes': [{'id': 1, 'callFrame': {'functionName': '(root)'}},
                                 {'id': 2, 'parent': 1, 'callFrame': {'functionName': 'f'}}],
                       'samples': [2, 2]}, 'timeDeltas': [1, 2]}}},
    {'ph': 'P', 'name': 'ProfileChunk', 'id': '0x1', 'pid': 3, 'tid': 9, 'args': {'data': {
        'cpuProfile': {'nodes': [{'id': 3, 'parent': 2, 'callFrame': {'functionName': 'g'}}],
                       'samples': [3, 77]}}}},
    {'ph': 'X', 'name': 'task', 'pid': 3, 'tid': 4, 'ts': 1, 'dur': 9}]}), '--by comm --by pid --by tid')
case('firefox-gecko', js({'meta': {'processType': 0, 'stackwalk': 1}, 'threads': [{
    'name': 'GeckoMain', 'tid': 5,
    'stringTable': ['(root)', 'main', 'f (resource://x.js -> file:///y.js:3:7)'],
    'frameTable': {'schema': {'location': 0}, 'data': [[0], [1], [2]]},
    'stackTable': {'schema': {'prefix': 0, 'frame': 1}, 'data': [[None, 0], [0, 1], [1, 2]]},
    'samples': {'data': [[1, 0], [2, 1], [2, 2], [None, 3]], 'schema': {'stack': 0, 'time': 1}}},
    json.dumps({'meta': {}, 'threads': [{'name': 'Compositor', 'stringTable': ['draw'],
                'frameTable': {'schema': {'location': 0}, 'data': [[0]]},
                'stackTable': {'schema': {'prefix': 0, 'frame': 1}, 'data': [[None, 0]]},
                'samples': {'schema': {'stack': 0}, 'data': [[0]]}}]})]}))
case('firefox-processed', js({'meta': {'preprocessedProfileVersion': 57}, 'shared': {
    'stringArray': ['main', '0x1a2b', 'libx.so'],
    'frameTable': {'length': 2, 'func': [0, 1]},
    'funcTable': {'length': 2, 'name': [0, 1], 'resource': [-1, 0]},
    'resourceTable': {'length': 1, 'name': [2]},
    'stackTable': {'length': 2, 'prefix': [None, 0], 'frame': [0, 1]}},
    'threads': [{'name': 'worker', 'pid': '12', 'tid': 13, 'samples': {
        'length': 3, 'stack': [0, 1, 1], 'weight': [1, 2, 0.5], 'weightType': 'tracing-ms'}}]}),
    '--by comm --by tid')
case('speedscope-mixed', js({'$schema': 'https://www.speedscope.app/file-format-schema.json',
    'profiles': [{'type': 'sampled', 'name': 'one', 'unit': 'milliseconds', 'startValue': 0, 'endValue': 3,
                  'samples': [[0, 1], [0], [9]], 'weights': [1.5, 2, 1]},
                 {'type': 'evented', 'name': 'two', 'unit': 'milliseconds', 'startValue': 0, 'endValue': 10,
                  'events': [{'type': 'O', 'frame': 0, 'at': 0}, {'type': 'O', 'frame': 1, 'at': 2.5},
                             {'type': 'C', 'frame': 1, 'at': 4}]}],
    'shared': {'frames': [{'name': 'a', 'file': 'a.c', 'line': 3}, {'name': 'b'}]}}))
case('safari', js({'version': 1, 'recording': {'instrumentTypes': ['x'], 'sampleStackTraces': [
    {'timestamp': 1, 'stackFrames': [{'name': 'g', 'line': 2, 'url': 'a.js'}, {'name': 'f'}]},
    {'timestamp': 2, 'stackFrames': [{'name': '', 'line': 9, 'url': 'a.js'}]},
    {'timestamp': 3, 'stackFrames': []}], 'sampleDurations': [0.001, 0.0025, 0.5]}}), '--value time')
case('dhat', js({'dhatFileVersion': 2, 'mode': 'heap', 'verb': 'Allocated', 'pps': [
    {'tb': 64, 'tbk': 2, 'gb': 32, 'gbk': 1, 'eb': 0, 'ebk': 0, 'fs': [1, 2]},
    {'tb': 8, 'tbk': 1, 'gb': 8, 'gbk': 1, 'eb': 8, 'ebk': 1, 'fs': [2]},
    {'tb': 8, 'tbk': 1, 'fs': [99]}],
    'ftbl': ['[root]', '0x48: malloc (in /usr/lib/x.so)', '0x50: main (a.c:12)']}))
case('ghc-json', js({'program': 'p', 'total_ticks': 30, 'cost_centres': [
    {'id': 1, 'label': 'MAIN', 'module': 'MAIN', 'src_loc': '<built-in>'},
    {'id': 2, 'label': 'fib', 'module': 'Main', 'src_loc': 'fib.hs:3:1-20'}],
    'profile': {'id': 1, 'entries': 0, 'alloc': 16, 'ticks': 1, 'children': [
        {'id': 2, 'entries': 9, 'alloc': 4096, 'ticks': 29, 'children': []}]}}), '--value alloc')
case('stackprof-json', js({'version': 1.2, 'mode': 'wall', 'interval': 1000, 'samples': 5, 'gc_samples': 0,
    'raw': [2, 10, 20, 3, 1, 10, 2, 4, 10], 'frames': {'10': {'name': 'main'}, '20': {'name': 'Object#a'}}}))

# ---- text ----

case('papyrus', 'quest log opened (PC)\n10:PUSH:1:1:None:q..f\n15:PUSH:1:2:None:q..g\n'
     '18:POP:1:2:None:q..g\n30:POP:1:1:None:q..f\nnonsense\nLog closed\n')
case('heaptrack-raw', 'v 10400 1\nX ./a\nI 1000 100\nm - \nm /usr/bin/a 400000 0 1000\nt 400010 0\nt 400020 1\n'
     '+ 10 2 aaaa\n+ 20 1 bbbb\n- aaaa\n+ 8 9 cccc\n', '--value leaked')
case('heaptrack-interpreted', 'v 10550 3\nX ./a\nI 1000 100\ns 4 main\ns 3 a.c\ns 8 alloc;me\ni 10 0 1 2 5\n'
     'i 20 0 3 2 7 1 2 9\nt 1 0\nt 2 1\na 10 2\na 4 1\n+ 0\n+ 1\n+ 0\n- 1\n')
case('xctrace', '<?xml version="1.0"?>\n<trace-query-result><node><schema name="time-profile"/>\n'
     '<row><thread id="1" fmt="main  0x2a (app, pid: 7)"/><weight id="2" fmt="1.00 ms">1000000</weight>'
     '<backtrace id="3"><frame id="4" name="leaf&lt;int&gt;"/><frame id="5" name="main"/></backtrace></row>\n'
     '<row><thread ref="1"/><weight ref="2"/><backtrace ref="3"/></row>\n'
     '<row><thread ref="1"/><weight id="8">5</weight><backtrace id="9"><frame ref="5"/></backtrace></row>\n'
     '<row><thread ref="1"/><weight ref="2"/><sentinel/></row>\n</node></trace-query-result>\n', '--value time')
case('sysprof-xml', '<profile>\n<size>5</size>\n<call_tree>1</call_tree>\n<objects>\n'
     '<object id="1"><name>"main"</name><total>5</total><self>0</self></object>\n'
     '<object id="2"><name>"f"</name><total>2</total><self>2</self></object>\n</objects>\n<nodes>\n'
     '<node id="1"><object>1</object><siblings>0</siblings><children>2</children><parent>0</parent>'
     '<total>5</total><self>3</self></node>\n'
     '<node id="2"><object>2</object><parent>1</parent><total>2</total><self>2</self></node>\n'
     '</nodes>\n</profile>\n')


# ---- protocol buffers ----

def varint(v):
    out = b''
    while v > 127:
        out += bytes([v & 127 | 128])
        v >>= 7
    return out + bytes([v])


def num(field, value):
    return varint(field << 3) + varint(value)


def part(field, value):
    value = value if isinstance(value, bytes) else value.encode()
    return varint(field << 3 | 2) + varint(len(value)) + value


strings = ['', 'samples', 'count', 'cpu', 'nanoseconds', 'main', 'inlined', '/usr/lib/libx.so', 'thread', 'worker', 'a.go']
pprof = part(1, num(1, 1) + num(2, 2)) + part(1, num(1, 3) + num(2, 4))
pprof += part(2, part(1, varint(1) + varint(2)) + part(2, varint(3) + varint(3000)) + part(3, num(1, 8) + num(2, 9)))
pprof += part(2, num(1, 2) + num(2, 1) + num(2, 1000))
pprof += part(2, part(1, varint(9)) + part(2, varint(1) + varint(1000)))
pprof += part(3, num(1, 1) + num(2, 0x1000) + num(3, 0x9000) + num(4, 0x200) + num(5, 7))
pprof += part(4, num(1, 1) + num(2, 1) + num(3, 0x1234))
pprof += part(4, num(1, 2) + part(4, num(1, 2) + num(2, 3)) + part(4, num(1, 1) + num(2, 8)))
pprof += part(5, num(1, 1) + num(2, 5) + num(4, 10)) + part(5, num(1, 2) + num(2, 6))
pprof += b''.join(part(6, s) for s in strings)
case('pprof', pprof)
case('pprof-value', pprof, '--value cpu --no-inline --srcline')


def simpleperf(*records):
    return b'SIMPLEPERF' + struct.pack('<H', 1) + b''.join(
        struct.pack('<I', len(r)) + r for r in records) + struct.pack('<I', 0)


case('simpleperf', simpleperf(
    part(5, part(1, 'cpu-clock')),
    part(1, num(1, 5) + num(2, 7) + part(3, num(1, 0x10) + num(2, 1) + num(3, 0)) + part(3, num(1, 0x20) + num(2, 1)
         + num(3, 2**64 - 1)) + num(4, 100)),
    part(1, num(2, 7) + num(4, 50)),
    part(2, num(1, 2) + num(2, 3)),
    part(3, num(1, 1) + part(2, '/system/lib/libc.so') + part(3, 'read')),
    part(4, num(1, 7) + num(2, 6) + part(3, 'app'))))

# ---- binary ----

words = [0, 3, 0, 10000, 0, 5, 2, 0x400123, 0x400456, 2, 1, 0x99, 0, 1, 0]
case('pprof-cpu', b''.join(struct.pack('<Q', w) for w in words) + b'00400000-00401000 r-xp 00001000 08:01 1 /usr/bin/app\n')
case('pprof-cpu-cut', b''.join(struct.pack('>I', w) for w in words[:9]) + b'\0\0\0\x02\0\0\xff\xff')
case('pstats', marshal.dumps({
    ('a.py', 3, 'main'): (1, 1, 0.25, 1.0, {}),
    ('a.py', 9, 'f'): (4, 4, 0.75, 0.75, {('a.py', 3, 'main'): (3, 3, 0.5, 0.5)})}, 4), '--srcline')


def symbol(text):
    return b':' + bytes([len(text) + 5]) + text.encode()


def rstr(text):
    return b'I"' + bytes([len(text) + 5]) + text.encode() + b'\x06' + symbol('E') + b'T'


frame = b'{\x07' + symbol('name') + rstr('Object#f') + symbol('line') + b'i\x08'
case('stackprof-marshal', b'\x04\x08{\x0a' + symbol('mode') + symbol('cpu') + symbol('samples') + b'i\x0a'
     + symbol('gc_samples') + b'i\x00' + symbol('raw') + b'[\x08i\x06i\x02\xe8\x03i\x0a'
     + symbol('frames') + b'{\x06i\x02\xe8\x03' + frame)


def mint(v):
    first = v & 0x3f
    v >>= 6
    out = bytes([first | (0x80 if v else 0)])
    while v:
        out += bytes([v & 127 | (128 if v > 127 else 0)])
        v >>= 7
    return out


mojo = b'MOJ\x01' + b'\x01mode\0wall\0'
mojo += b'\x0b' + mint(500) + b'a.py\0' + b'\x0b' + mint(501) + b'main\0' + b'\x0b' + mint(502) + b'f\0'
mojo = b'MOJ\x01\x01mode\0wall\0\x02' + mint(42) + b'1a2b\0' + mojo[15:]
mojo += b'\x03' + mint(1) + mint(500) + mint(501) + mint(3) + b'\x03' + mint(2) + mint(500) + mint(502) + mint(9)
mojo += b'\x05' + mint(1) + b'\x05' + mint(2) + b'\x09' + mint(1000)
mojo += b'\x02' + mint(42) + b'1a2b\0\x05' + mint(1) + b'\x08\x09' + mint(77) + b'\x0a\x45' + b'\x02' + mint(42)
case('mojo', mojo, '--srcline')

art = b'*version\n3\nclock=dual\nvm=art\npid=12\n*threads\n12\tmain\n*methods\n0x4\tcom/a/B\tf\t()V\tB.java\n0x8\tcom.a.B\tg\t()V\tB.java\n*end\n'
art += b'SLOW' + struct.pack('<HHQH', 3, 32, 0, 14) + bytes(14)
for tid, method, cpu, wall in ((12, 4, 0, 0), (12, 8, 2, 10), (12, 9, 5, 40), (12, 5, 6, 100), (13, 12, 0, 5), (13, 13, 1, 9)):
    art += struct.pack('<HIII', tid, method, cpu, wall)
case('art-trace', art + b'\x0c\0')
case('art-trace-cpu', art, '--value cpu')

ev = b''
for time, kind, depth, addr in ((100, 0, 0, 0x401000), (150, 0, 1, 0x402000), (170, 1, 1, 0x402000), (180, 2, 0, 3), (300, 1, 0, 0x401000),
                                (310, 0, 0, 0x403000), (320, 1, 0, 0x403000), (330, 0, 0, 0x401000), (331, 1, 0, 0x401000)):
    ev += struct.pack('<QQ', time, kind | 5 << 3 | depth << 6 | addr << 16)
case('uftrace', ev)


def member(name, data):
    path = os.path.join(here, 'uftrace-folder', 'uftrace.data', name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, 'wb') as f:
        f.write(data if isinstance(data, bytes) else data.encode())


def calls(*events):
    return b''.join(struct.pack('<QQ', time, kind | more << 2 | 5 << 3 | depth << 6 | addr << 16) + bytes(16 * more)
                    for time, kind, more, depth, addr in events)


member('task.txt', 'SESS timestamp=1.000000050 pid=70 sid=aa01 exename="/usr/bin/shop front"\n'
       'TASK timestamp=1.000000060 tid=70 pid=70\nTASK timestamp=1.000000070 tid=71 pid=70\n'
       'FORK timestamp=1.000000080 pid=72 ppid=70\nSESS timestamp=1.000000200 pid=72 sid=bb02 exename="/usr/bin/mail"\n')
member('sid-aa01.map', '400000-405000 r-xp 00000000 00:00 0      /usr/bin/shop front build-id:01\n'
       '7f0000000000-7f0000002000 r-xp 00000000 00:00 0      /usr/lib/libcart.so.1\n')
member('sid-bb02.map', '400000-402000 r-xp 00000000 00:00 0      /usr/bin/mail\n')
member('shop front.sym', '# symbols: 3\n# path name: /usr/bin/shop front\n0000000000001000 P puts\n'
       '0000000000001010 T main\n0000000000001100 t _ZN4Cart5totalEi\n0000000000001200 ? __sym_end\n')
member('libcart.so.1.sym', '# symbols: 2\n0000000000000400 00000010 T cart_add\n0000000000000500 00000010 T cart_drop\n')
member('mail.sym', '0000000000001010 T send_mail\n')
member('70.dat', calls((1000000100, 0, 1, 0, 0x401014), (1000000110, 0, 0, 1, 0x401104), (1000000120, 0, 0, 2, 0x7f0000000404),
                       (1000000150, 1, 0, 2, 0x7f0000000404), (1000000160, 0, 0, 2, 0x7f0000000410), (1000000170, 1, 0, 2, 0x7f0000000410),
                       (1000000180, 1, 0, 1, 0x401104), (1000000300, 1, 0, 0, 0x401014)))
member('71.dat', calls((1000000100, 0, 0, 3, 0x401104), (1000000101, 1, 0, 3, 0x401104)))
member('72.dat', calls((1000000500, 0, 0, 0, 0x401014), (1000000507, 1, 0, 0, 0x401014)))
member('73.dat', b'')
member('kernel-cpu0.dat', b'x')


def cap(kind, payload, pid=9):
    return struct.pack('<HhiqII', 24 + len(payload), 0, pid, 1, kind, 0) + payload


case('sysprof-capture', struct.pack('<II', 0xfdca975e, 0x101) + bytes(248)
     + cap(3, struct.pack('<QQQQ', 0x1000, 0x2000, 0x100, 1) + b'/usr/lib/libx.so\0')
     + cap(4, b'/usr/bin/app --flag\0')
     + cap(7, struct.pack('<IQ', 1, 0x7000) + b'jitted\0')
     + cap(2, struct.pack('<Ii5Q', 5, 9, 2**64 - 512, 0x7000, 0x1234, 0x9999, 0x1010)))


# ---- JFR ----

class Jfr:
    def __init__(self):
        self.strings = []

    def s(self, text):
        if text not in self.strings:
            self.strings.append(text)
        return varint(self.strings.index(text))

    def element(self, name, attributes, children=()):
        body = self.s(name) + varint(len(attributes))
        for key, value in attributes.items():
            body += self.s(key) + self.s(value)
        return body + varint(len(children)) + b''.join(children)

    def cls(self, id, name, *fields):
        return self.element('class', {'name': name, 'id': str(id)}, [
            self.element('field', {'name': f[0], 'class': str(f[1]), **({'constantPool': 'true'} if 'p' in f[2] else {}),
                                   **({'dimension': '1'} if 'a' in f[2] else {})}) for f in fields])


def text(value):
    return b'\x03' + varint(len(value)) + value.encode()


def event(kind, body):
    body = varint(kind) + body
    return varint(len(body) + 1) + body


def jfr(is_rich=False):
    j = Jfr()
    types = [j.cls(1, 'int'), j.cls(2, 'long'), j.cls(3, 'boolean'), j.cls(4, 'java.lang.String'),
             j.cls(10, 'jdk.types.Symbol', ('string', 4, '')), j.cls(11, 'java.lang.Class', ('name', 10, 'p')),
             j.cls(12, 'jdk.types.Method', ('type', 11, 'p'), ('name', 10, 'p')),
             j.cls(13, 'jdk.types.StackFrame', ('method', 12, 'p'), ('lineNumber', 1, '')),
             j.cls(14, 'jdk.types.StackTrace', ('truncated', 3, ''), ('frames', 13, 'a')),
             j.cls(15, 'java.lang.Thread', ('osThreadId', 2, ''), ('javaName', 4, '')),
             j.cls(20, 'jdk.ExecutionSample', ('startTime', 2, ''), ('sampledThread', 15, 'p'), ('stackTrace', 14, 'p')),
             j.cls(21, 'jdk.JavaMonitorEnter', ('startTime', 2, ''), ('duration', 2, ''), ('eventThread', 15, 'p'), ('stackTrace', 14, 'p'))]
    if is_rich:  # states of threads as async-profiler 2 has them, CPU time as JDK 25
        types[10] = j.cls(20, 'jdk.ExecutionSample', ('startTime', 2, ''), ('sampledThread', 15, 'p'), ('stackTrace', 14, 'p'), ('state', 16, 'p'))
        types += [j.cls(16, 'jdk.types.ThreadState', ('name', 4, '')),
                  j.cls(22, 'jdk.CPUTimeSample', ('startTime', 2, ''), ('eventThread', 15, 'p'), ('stackTrace', 14, 'p'), ('samplingPeriod', 2, '')),
                  j.cls(23, 'jdk.CPUTimeSamplesLost', ('startTime', 2, ''), ('lostSamples', 1, ''), ('eventThread', 15, 'p'))]
    root = j.element('root', {}, [j.element('metadata', {}, types)])
    body = varint(0) * 3 + varint(len(j.strings)) + b''.join(text(s) for s in j.strings) + root
    body = varint(0) + body
    size = len(body) + 2
    meta = bytes([size & 127 | 128, size >> 7]) + body
    events = event(20, varint(1) + varint(1) + varint(1)) * 3 + event(20, varint(1) + varint(1) + varint(2))
    events += event(21, varint(1) + varint(500) + varint(1) + varint(2))
    if is_rich:
        events = b''.join(event(20, varint(1) + varint(1) + varint(1 + i % 2) + varint(1 + (i > 1))) for i in range(5))
        events += event(22, varint(1) + varint(1) + varint(2) + varint(10000)) * 3 + event(23, varint(1) + varint(4) + varint(1))
    pool = varint(0) * 2 + varint(0) + b'\0' + varint(6 if is_rich else 5)
    pool += varint(10) + varint(3) + varint(1) + text('com/a/Main') + varint(2) + text('main') + varint(3) + text('work')
    pool += varint(11) + varint(1) + varint(1) + varint(1)
    pool += varint(12) + varint(2) + varint(1) + varint(1) + varint(2) + varint(2) + varint(1) + varint(3)
    pool += varint(14) + varint(2) + varint(1) + b'\0' + varint(2) + varint(2) + varint(7) + varint(1) + varint(3)
    pool += varint(2) + b'\x01' + varint(1) + varint(1) + varint(3)
    pool += varint(15) + varint(1) + varint(1) + varint(77) + text('worker-1')
    if is_rich:
        pool += varint(16) + varint(2) + varint(1) + text('STATE_RUNNABLE') + varint(2) + text('STATE_SLEEPING')
    body = varint(1) + pool
    size = len(body) + 2
    checkpoint = bytes([size & 127 | 128, size >> 7]) + body
    total = 68 + len(events) + len(checkpoint) + len(meta)
    return b'FLR\0' + struct.pack('>HHQQQQQQQI', 2, 1, total, 68 + len(events), 68 + len(events) + len(checkpoint),
                                  0, 0, 0, 1000000, 1) + events + checkpoint + meta


case('jfr', jfr())
case('jfr-lock', jfr() + b'FLR\0cut', '--value lock --by comm --by tid')
case('jfr-old', b'FLR\0' + struct.pack('>HH', 0, 9) + bytes(80))
case('jfr-wall', jfr(True))
case('jfr-cpu', jfr(True), '--value cpu')
case('jfr-cpu-time', jfr(True), '--value cpu-time')
