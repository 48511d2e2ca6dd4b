"""What the built-in functions and blocks of CBS take and give, for people who write texts with them."""

from __future__ import annotations

from typing import Final

from tavernkit.values import Value

_REFERENCE: Final = """
character
char | | The nickname or name of the character.
user | | The name of the user.
triggerid | | The element that was clicked, or null.
personality | | The character's personality, expanded.
description | | The character's description, expanded.
scenario | | The scenario, expanded.
exampledialogue | | The example dialogues, expanded.
lorebook | | All lore entries, as an array of JSON.
emotionlist | | The names of the character's emotion pictures.
assetlist | | The names of the character's assets.
chardisplayasset | | The names of the assets that the model is told of.
moduleenabled | namespace | Whether a module is on: 1 or 0.
moduleassetlist | namespace | The names of a module's assets.
history
previouscharchat | | The character's last message before this one, or the greeting.
previoususerchat | | The user's last message before this one.
userhistory | | The user's messages, as an array of JSON.
charhistory | | The character's messages, as an array of JSON.
history | [role] | All messages as an array of JSON; with role, as texts behind their roles.
lastmessage | | The last message.
previouschatlog | index | The message at a place, or “Out of range”.
chatindex | | The place of this message.
lastmessageid | | The place of the last message.
firstmsgindex | | Which greeting was chosen.
role | | Whose text this is.
isfirstmsg | | Whether this is the greeting: 1 or 0.
clock
time | [format] | The local time; with a format such as HH:mm.
date | [format] | The local date; with a format such as YYYY-MM-DD.
unixtime | | Seconds since 1970.
isotime | | The time in UTC.
isodate | | The date in UTC.
messagetime | | When this message was sent, as a time.
messagedate | | When this message was sent, as a date.
messageunixtimearray | | When all messages were sent, as an array.
idleduration | | How long ago the last message was sent.
messageidleduration | | The time between the user's last two messages.
variables
getvar | name | The value of a variable of the chat.
setvar | name::value | Sets a variable of the chat.
addvar | name::number | Adds to a variable of the chat.
setdefaultvar | name::value | Sets a variable of the chat that has no value yet.
getglobalvar | name | The value of a global variable; toggle_ before the name reads a toggle.
tempvar | name | The value of a variable of this text.
settempvar | name::value | Sets a variable of this text.
return | text | Ends the text here, and gives this one.
calc | expression | The result of a calculation.
logic
equal | a::b | Whether two texts are the same: 1 or 0.
notequal | a::b | Whether two texts differ: 1 or 0.
greater | a::b | Whether a number is greater: 1 or 0.
less | a::b | Whether a number is less: 1 or 0.
greaterequal | a::b | Whether a number is greater or the same: 1 or 0.
lessequal | a::b | Whether a number is less or the same: 1 or 0.
and | a::b | 1 if both are 1.
or | a::b | 1 if one of them is 1.
not | a | 1 if it is not 1.
all | a::… | 1 if all are 1; takes an array or several arguments.
any | a::… | 1 if one is 1; takes an array or several arguments.
iserror | text | Whether a text begins with “error:”.
strings
startswith | text::beginning | Whether a text begins so: 1 or 0.
endswith | text::end | Whether a text ends so: 1 or 0.
contains | text::part | Whether a text contains another: 1 or 0.
replace | text::old::new | The text with every occurrence replaced.
split | text::at | An array of the pieces of a text.
trim | text | The text without white space at its ends.
length | text | How many characters a text has.
lower | text | The text in small letters.
upper | text | The text in capital letters.
capitalize | text | The text with a capital first letter.
reverse | text | The whole macro backwards.
numbers
round | number | The nearest whole number.
floor | number | The whole number below.
ceil | number | The whole number above.
abs | number | The number without its sign.
remaind | a::b | What is left of a division.
pow | a::b | A to the power of B.
min | a::… | The smallest; takes an array or several arguments.
max | a::… | The largest; takes an array or several arguments.
sum | a::… | The sum; takes an array or several arguments.
average | a::… | The average; takes an array or several arguments.
tonumber | text | The digits and points of a text.
fixnum | number::digits | The number with so many digits behind the point.
arrays
makearray | item::… | An array of the arguments.
range | [start,end,step] | An array of numbers.
join | array::between | The items as one text.
spread | array | The items as one text with :: between them.
arraylength | array | How many items an array has.
arrayelement | array::index | The item at a place.
arraypush | array::item | The array with an item at its end.
arraypop | array | The array without its last item.
arrayshift | array | The array without its first item.
arraysplice | array::index::count::item | The array with items replaced.
arrayassert | array::index::item | The array with an item beyond its end set.
filter | array::kind | The array with its unique or nonempty items.
objects
makedict | key=value::… | An object of the arguments.
dictelement | object::key | The value of a key, or null.
element | object::key::… | The value behind several keys, or null.
objectassert | object::key::value | The object with a missing value set.
encoding
unicodeencode | text::[index] | The number of a character.
unicodedecode | number | The character of a number.
u | hex | The character of a hexadecimal number.
fromhex | hex | A number from hexadecimal digits.
tohex | number | The number in hexadecimal digits.
hash | text | A number of seven digits for a text.
xor | text | The text, made unreadable.
xordecrypt | text | The text, made readable again.
crypt | text::[shift] | The text with every character shifted; twice gives it back.
escapes
br | | A line break.
blank | | Nothing.
hiddenkey | key | Nothing, but lore entries can be activated by it.
cbr | [count] | A line break as the two characters \\n.
bo | | Two opening braces that are not parsed.
bc | | Two closing braces that are not parsed.
decbo | | One opening brace that is not parsed.
decbc | | One closing brace that is not parsed.
displayescapedbracketopen | | An opening bracket that is not parsed.
displayescapedbracketclose | | A closing bracket that is not parsed.
displayescapedanglebracketopen | | An opening angle bracket that is not parsed.
displayescapedanglebracketclose | | A closing angle bracket that is not parsed.
displayescapedcolon | | A colon that is not parsed.
displayescapedsemicolon | | A semicolon that is not parsed.
chance
random | item::… | One of the arguments by chance; without any, a number.
pick | item::… | The same, but it stays until the chat is longer.
randint | least::most | A whole number by chance.
dice | 2d6 | The sum of dice.
roll | 2d6 | The sum of dice.
rollp | 2d6 | The sum of dice, which stays until the chat is longer.
display
button | label::trigger | A button that starts a trigger.
comment | text | Nothing in the prompt; a box on the page.
tex | formula | A formula.
ruby | text::reading | A text with its reading above it.
risu | [size] | RisuAI's picture.
file | name::base64 | The text of a file.
codeblock | [language]::code | A block of code.
settings
persona | | The persona of the user, expanded.
mainprompt | | The main prompt, expanded.
jb | | The jailbreak prompt, expanded.
globalnote | | The global note, expanded.
model | | The model.
axmodel | | The auxiliary model.
maxcontext | | The context size in tokens.
jbtoggled | | Whether the jailbreak is on: 1 or 0.
prefillsupported | | Whether the model can go on from a prefilled reply: 1 or 0.
screenwidth | | The width of the screen in pixels.
screenheight | | The height of the screen in pixels.
metadata | key | A fact about the application, such as version, language or modelname.
blocks
#when | condition | Its text stays if the condition holds, else what is behind {{:else}}.
#if | word | Its text stays if the word is 1 or true.
#if_pure | word | The same, with its white space.
#each | array name | Its text once for every item, which is {{slot::name}}.
#func | name | A text for {{call::name::…}}.
#pure | | Its text without macros being answered.
#puredisplay | | The same, with escaped braces.
#escape | | Its text with braces and brackets escaped.
#code | | Its text as one line in which \\n and \\t are answered.
"""


class CBSReference(Value, frozen=True, kw_only=True):
    """What a function or block of CBS takes and gives."""

    name: str
    topic: str
    arguments: str
    description: str


def cbs_reference() -> tuple[CBSReference, ...]:
    """Every built-in function and block once, under its own name, by topic."""
    found, topic = [], ""
    for line in _REFERENCE.strip().splitlines():
        name, *about = (part.strip() for part in line.split("|", 2))
        if not about:
            topic = name
        else:
            found.append(CBSReference(name=name, topic=topic, arguments=about[0], description=about[1]))
    return tuple(found)
