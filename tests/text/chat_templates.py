"""Chat templates of our own in the styles of the common families, and such as no sandbox may run."""

# ruff: noqa: E501 - a template is one line where a line end would be text

CHATML = """{%- for message in messages %}
    {%- if loop.first and message.role != 'system' %}
        {{- '<|im_start|>system\\nYou are a helpful assistant.<|im_end|>\\n' }}
    {%- endif %}
    {{- '<|im_start|>' + message.role + '\\n' + message.content | trim + '<|im_end|>' + '\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
    {{- '<|im_start|>assistant\\n' }}
{%- endif %}
"""
BRACKETS = """{% if messages[0]['role'] == 'system' %}
    {% set system_message = '<<SYS>>\\n' + messages[0]['content'] | trim + '\\n<</SYS>>\\n\\n' %}
    {% set messages = messages[1:] %}
{% else %}{% set system_message = '' %}{% endif %}
{% for message in messages %}
    {% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}
        {{ raise_exception('Conversation roles must alternate user/assistant/user/assistant/...') }}
    {% endif %}
    {% set content = system_message + message['content'] if loop.index0 == 0 else message['content'] %}
    {% if message['role'] == 'user' %}{{ bos_token + '[INST] ' + content | trim + ' [/INST]' }}
    {% elif message['role'] == 'assistant' %}{{ ' ' + content | trim + ' ' + eos_token }}{% endif %}
{% endfor %}"""
HEADERS = """{{- bos_token }}
{%- if not date_string is defined %}{%- set date_string = strftime_now("%d %b %Y") %}{%- endif %}
{%- if messages[0]['role'] == 'system' %}
    {%- set system_message = messages[0]['content']|trim %}{%- set messages = messages[1:] %}
{%- else %}{%- set system_message = "" %}{%- endif %}
{{- "<|start|>system<|end|>\\n\\nToday: " + date_string + "\\n\\n" + system_message + "<|eot|>" }}
{%- for message in messages %}
    {{- '<|start|>' + message['role'] + '<|end|>\\n\\n'+ message['content'] | trim + '<|eot|>' }}
{%- endfor %}
{%- if add_generation_prompt %}{{- '<|start|>assistant<|end|>\\n\\n' }}{%- endif %}"""
MODEL_TURNS = """{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('System role not supported') }}
{% endif %}{% for message in messages %}{% if message['role'] == 'assistant' %}{% set role = 'model' %}
{% else %}{% set role = message['role'] %}{% endif %}
{{ '<start_of_turn>' + role + '\\n' + message['content'] | trim + '<end_of_turn>\\n' }}{% endfor %}
{% if add_generation_prompt %}{{'<start_of_turn>model\\n'}}{% endif %}"""
MACROS = """{%- macro turn(role, content, last=false) -%}
<{{ role|upper }}>{{ content|replace('\\n', ' ')|tojson }}{% if not last %};{% endif %}
{%- endmacro -%}
{%- set ns = namespace(count=0, said=[]) -%}
{%- for message in messages -%}
    {%- if message.role == 'assistant' -%}{%- continue -%}{%- endif -%}
    {%- set ns.count = ns.count + 1 -%}{%- set ns.said = ns.said + [message.content|length] -%}
    {{ turn(message.role, message.content.split(' ')|join('_'), loop.last) }}
{%- endfor -%}
{{ ns.count ~ '/' ~ ns.said|sum ~ ' ' ~ {'a': [1, 'é<>&']}|tojson(indent=2) }}
{%- for name, value in {'x': 1, 'y': none}.items() %} {{ name }}={{ value }}{% endfor -%}
{% set block %}{{ messages[-1].content[:3] }}{{ messages | map(attribute='role') | unique | list }}{% endset %}{{ block }}"""
GENERATION = """{% for message in messages %}{% if message.role == 'assistant' %}
A: {% generation %}{{ message.content }}{{ eos_token }}{% endgeneration %}
{% else %}U: {{ message.content }}
{% endif %}{% endfor %}{% if add_generation_prompt %}A: {% endif %}"""
COMMON = {
    "chatml": CHATML,
    "brackets": BRACKETS,
    "headers": HEADERS,
    "model turns": MODEL_TURNS,
    "macros": MACROS,
    "generation": GENERATION,
}

# Never ends, writes without end, or makes a value without end, each in another way.
ENDLESS = {
    "nested loops": "{% for a in range(99999) %}{% for b in range(99999) %}{% for c in range(99999) %}{% endfor %}"
    "{% endfor %}{% endfor %}",
    "a long range": "{% for a in range(10 ** 12) %}x{% endfor %}",
    "calls itself twice": "{% macro f(n) %}{{ f(n) }}{{ f(n) }}{% endmacro %}{{ f(1) }}",
    "a tree of calls": "{% macro f(n) %}{% if n %}{{ f(n - 1) }}{{ f(n - 1) }}{% endif %}{% endmacro %}{{ f(60) }}",
    "a recursive loop": "{% for a in range(50) recursive %}{{ loop(range(50)) }}{% endfor %}",
    "a doubled text": "{% set ns = namespace(s='x') %}{% for a in range(90) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}",
    "an added text": "{% set ns = namespace(s='x') %}{% for a in range(90) %}{% set ns.s = ns.s + ns.s %}{% endfor %}",
    "a captured text": "{% set ns = namespace(s='x') %}{% for a in range(90) %}"
    "{% set s %}{{ ns.s }}{{ ns.s }}{% endset %}{% set ns.s = s %}{% endfor %}",
    "a doubled list": "{% set ns = namespace(s=[1]) %}{% for a in range(90) %}{% set ns.s = [ns.s, ns.s] %}{% endfor %}"
    "{{ ns.s }}",
    "a doubled dict": "{% set ns = namespace(s={}) %}{% for a in range(90) %}"
    "{% set ns.s = {'a': ns.s, 'b': ns.s} %}{% endfor %}{{ ns.s|tojson }}",
    "nested namespaces": "{% set ns = namespace(s=1) %}{% for a in range(90) %}"
    "{% set ns.s = namespace(a=ns.s, b=ns.s) %}{% endfor %}{{ ns.s }}",
    "a product": "{{ 'x' * 10 ** 12 }}",
    "a product of lists": "{{ ([0] * 9999999 * 9999999)|length }}",
    "a power": "{{ 9 ** 9 ** 9 ** 9 ** 9 ** 9 }}",
    "a product of numbers": "{% set ns = namespace(s=9) %}{% for a in range(90) %}{% set ns.s = ns.s * ns.s %}{% endfor %}",
    "a wide column": "{{ '%999999999d' % 1 }}",
    "a starred column": "{{ '%*d' % (999999999, 1) }}",
    "a wide filter": "{{ '%999999999d'|format(1) }}",
    "a wide format": "{{ '{:999999999d}'.format(1) }}",
    "a nested format": "{{ '{:{}}'.format(1, 999999999) }}",
    "a search from the end": "{{ ('a' * 400000).rfind('ab' + 'a' * 200000) }}",
    "a format of one text many times": "{{ ('{a}' * 300).format(a='x' * 1000000) }}",
    "a printed text many times": "{{ ('%(a)s' * 300) % {'a': 'x' * 1000000} }}",
    "a filtered format": "{{ ('%s' * 300)|format('x' * 1000000) }}",
    "a joined range": "{{ range(30000)|join('x' * 10000) }}",
    "a named replacement": "{{ ('a' * 20000)|replace(new='b' * 15000, old='a') }}",
    "values many times": "{% set d = {'a': 'x' * 100000} %}{{ [d.values()] * 100 }}",
    "a wide date": "{{ strftime_now('%999999999d') }}",
    "a padded text": "{{ 'x'.ljust(10 ** 10) }}",
    "a centred text": "{{ 'x'|center(10 ** 10) }}",
    "a batch": "{{ [1]|batch(10 ** 10, 'x')|list }}",
    "an indented text": "{{ ('x\n' * 99999)|indent(9999) }}",
    "replaced": "{% set x = 'x' * 9999 %}{{ x.replace('x', x).replace('x', x) }}",
    "replaced by a filter": "{% set x = 'x' * 9999 %}{{ x|replace('x', x)|replace('x', x) }}",
    "joined": "{% set x = 'x' * 99999 %}{{ x|join(x) }}{{ x.join(range(99999)|map('string')) }}",
    "defaults": "{% set x = 'x' * 999999 %}{{ range(99999)|map(attribute='a', default=x)|join }}",
    "sums of lists": "{% set x = [[0] * 9999] * 9 %}{% for a in range(99) %}{% set x = x|sum(start=[]) * 9 %}{% endfor %}",
    "lorem": "{{ lipsum(n=9999999) }}",
    "a long literal": "{% macro f(n) %}{% for a in range(99999) %}" + "x" * 5000 + "{% endfor %}{% endmacro %}{{ f(1) }}",
    "deep brackets": "{{ " + "(" * 99999 + "1" + ")" * 99999 + " }}",
    "rounded": "{{ 1.5|round(999999999, 'ceil') }}",
}  # fmt: skip
# Reaches for files, modules or the insides of Python.
REACHING = {
    "include": "{% include '/etc/passwd' %}",
    "import": "{% import 'os' as os %}",
    "from": "{% from 'os' import system %}",
    "extends": "{% extends '/etc/passwd' %}",
    "classes": "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "globals": "{{ raise_exception.__globals__['os'].system('true') }}",
    "item": "{{ ''['__class__'] }}",
    "filter": "{{ ''|attr('__class__') }}",
    "mapped": "{{ ['']|map(attribute='__class__')|list }}",
    "format": "{{ '{0.__class__}'.format('') }}",
    "environment": "{{ self._TemplateReference__context.environment.cache }}",
    "loader": "{{ messages.__init__.__globals__ }}",
    "open": "{{ open('/etc/passwd').read() }}",
    "changed": "{{ messages.append(1) }}",
    "underscored": "{% set ns = namespace(__class__=1) %}",
}
WRONG = {
    "unclosed": "{% for a in messages %}",
    "unknown tag": "{% while true %}{% endwhile %}",
    "unknown filter": "{{ 1|nothing }}",
    "undefined": "{{ nothing.more }}",
    "divided": "{{ 1 / 0 }}",
    "typed": "{{ 1 + 'a' }}",
}
