// Which key does what. The server knows all shortcuts (`base/accounts/shortcuts.py`) and writes into the page which key
// each has for its reader; whoever listens for a key asks here, and compares none itself.
import { isTyping } from "./typing_place"

export type Action =
  | "palette"
  | "help"
  | "theme"
  | "send"
  | "regenerate"
  | "continue"
  | "stop"
  | "edit_last"
  | "swipe_previous"
  | "swipe_next"
  | "find"
  | "panel"
  | "save_edit"
  | "find_next"
  | "find_previous"
  | "search_box"

const bindings: Partial<Record<Action, string>> = JSON.parse(document.getElementById("key_bindings")?.textContent || "{}")

const MODIFIERS = ["Control", "Meta", "Alt", "AltGraph", "Shift", "CapsLock", "Fn", "Hyper", "Super", "OS"]
// What a key prints on the keyboards that the names of keys come from: without Shift, and with it.
const PRINTED: Record<string, string> = {
  Minus: "-_",
  Equal: "=+",
  BracketLeft: "[{",
  BracketRight: "]}",
  Backslash: "\\|",
  Semicolon: ";:",
  Quote: "'\"",
  Backquote: "`~",
  Comma: ",<",
  Period: ".>",
  Slash: "/?",
}

/** What is pressed, as shortcuts are written: `Mod+Shift+k`. Nothing for a modifier alone, or while somebody composes. */
export function pressed(event: KeyboardEvent): string {
  if (isComposing(event) || MODIFIERS.includes(event.key)) return ""
  const base = baseOf(event)
  // On some keyboards, AltGr is needed to type a sign, and looks like Ctrl and Alt.
  const isSign = event.getModifierState("AltGraph")
  const modifiers = [
    (event.ctrlKey || event.metaKey) && !isSign ? "Mod" : "",
    event.altKey && !isSign ? "Alt" : "",
    // A sign says itself whether Shift is needed for it.
    event.shiftKey && (base.length > 1 || /[a-z]/.test(base)) ? "Shift" : "",
  ]
  return [...modifiers, base].filter((part) => part !== "").join("+")
}

/** Whether this is the key of an action. A key that could be part of a text counts only outside of texts. */
export function isKeyOf(action: Action, event: KeyboardEvent): boolean {
  const key = bindings[action]
  return key !== undefined && key !== "" && pressed(event) === key && (isNeverTyped(key) || !isTyping(event))
}

/** The same in a text box that has keys of its own, such as Enter. */
export function isKeyInTextOf(action: Action, event: KeyboardEvent): boolean {
  const key = bindings[action]
  return key !== undefined && key !== "" && pressed(event) === key
}

/** Whether pressing this key never writes anything or moves in a text. */
export function isNeverTyped(key: string): boolean {
  return /^(Mod|Alt)\+|^(Shift\+)?F\d+$|^Escape$/.test(key)
}

/** Whether pressing this key writes a character. */
export function isCharacter(key: string): boolean {
  return /^(Shift\+)?.$/.test(key)
}

/** While somebody composes a character, keys belong to the input method (229 is how Safari says so). */
export function isComposing(event: KeyboardEvent): boolean {
  return event.isComposing || event.keyCode === 229
}

// By what is printed on the key; where that is no Latin letter (in a Russian layout, or with Alt on a Mac), by its place.
function baseOf({ key, code, shiftKey }: KeyboardEvent): string {
  if (key === " ") return "Space"
  if (/^[!-~]$/.test(key)) return key.toLowerCase()
  if (key.length > 1 && key !== "Dead" && key !== "Process" && key !== "Unidentified") return key
  const letter = /^(?:Key|Digit)([A-Z0-9])$/.exec(code)?.[1]
  return letter?.toLowerCase() ?? PRINTED[code]?.[shiftKey ? 1 : 0] ?? key
}
