import { Controller } from "@hotwired/stimulus"
import { announce } from "../announcer"
import { distance } from "../fuzzy"
import { isComposing } from "../keys"
import { _, ngettext } from "../language"
import { limitedFetch } from "../request_limit"

interface Macro {
  name: string
  arguments: string
  description: string
  aliases: string[]
}

const MOST_SHOWN = 40
const OPEN = "{{"
// What may stand between the braces and the place where one types: flags of blocks and letters of a name.
const BEGINNING = /\{\{([#/!?~>]*[\w-]*)$/

const known = new Map<string, Promise<Macro[]>>()
let count = 0

// A textarea in which macros are completed: two opening braces bring up a list of them. Arrow keys choose, Enter or Tab
// or a tap insert, Escape closes. `platform` says whose macros they are.
export default class MacroText extends Controller<HTMLTextAreaElement> {
  static override values = { platform: { type: String, default: "sillytavern" } }

  declare readonly platformValue: string

  private list: HTMLUListElement | undefined
  private shown: Macro[] = []
  private chosen = 0

  override connect(): void {
    this.element.setAttribute("aria-autocomplete", "list")
    this.element.setAttribute("aria-haspopup", "listbox")
    this.element.addEventListener("input", this.typed)
    this.element.addEventListener("keydown", this.key)
    this.element.addEventListener("blur", this.close)
    addEventListener("scroll", this.follow, { capture: true, passive: true })
  }

  override disconnect(): void {
    this.close()
    this.element.removeEventListener("input", this.typed)
    this.element.removeEventListener("keydown", this.key)
    this.element.removeEventListener("blur", this.close)
    removeEventListener("scroll", this.follow, { capture: true })
  }

  private readonly typed = async (event: Event): Promise<void> => {
    if ((event as InputEvent).isComposing) return
    if (this.beginning() === undefined) {
      this.close()
      return
    }
    const macros = await macrosOf(this.platformValue)
    const typed = this.beginning()
    if (typed === undefined || document.activeElement !== this.element) return
    this.shown = fitting(macros, typed)
    if (this.shown.length === 0) this.close()
    else this.open()
  }

  private readonly key = (event: KeyboardEvent): void => {
    if (!this.list || isComposing(event)) return
    if (event.key === "ArrowDown" || event.key === "ArrowUp") this.choose(this.chosen + (event.key === "ArrowDown" ? 1 : -1))
    else if (event.key === "Enter" || event.key === "Tab") this.insert(this.shown[this.chosen])
    else if (event.key === "Escape") this.close()
    else return
    // The keys are for the list alone, not for the form or a dialog around it.
    event.preventDefault()
    event.stopPropagation()
  }

  private readonly close = (): void => {
    this.list?.remove()
    this.list = undefined
    this.element.removeAttribute("aria-activedescendant")
    this.element.removeAttribute("aria-controls")
  }

  private readonly follow = (event: Event): void => {
    if (this.list && event.target !== this.list) this.place(this.list)
  }

  private beginning(): string | undefined {
    const { selectionStart, selectionEnd, value } = this.element
    if (selectionStart !== selectionEnd) return undefined
    return BEGINNING.exec(value.slice(Math.max(0, selectionStart - 60), selectionStart))?.[1]
  }

  private open(): void {
    const isNew = !this.list
    if (!this.list) {
      this.list = document.createElement("ul")
      this.list.id = `macros_${++count}`
      this.list.className = "macro-choices"
      this.list.setAttribute("role", "listbox")
      this.list.setAttribute("aria-label", _("Macros"))
      this.list.tabIndex = 0
      // Whoever chooses with a pointer goes on typing where they were.
      this.list.addEventListener("mousedown", (event) => {
        event.preventDefault()
      })
      // Inside a dialog, what stands outside of it cannot be seen.
      ;(this.element.closest("dialog, main") ?? document.body).append(this.list)
      this.element.setAttribute("aria-controls", this.list.id)
    }
    this.list.replaceChildren(...this.shown.map((macro, index) => this.row(macro, index)))
    this.place(this.list)
    this.choose(0)
    if (isNew) announce(ngettext("{count} macro. Use the arrow keys.", "{count} macros. Use the arrow keys.", this.shown.length))
  }

  private row(macro: Macro, index: number): HTMLElement {
    const row = document.createElement("li")
    row.id = `${this.list?.id ?? "macros"}_${index}`
    row.className = "macro-choice"
    row.setAttribute("role", "option")
    const call = document.createElement("code")
    call.textContent = written(macro)
    const about = document.createElement("span")
    about.textContent = macro.description
    row.append(call, about)
    row.addEventListener("click", () => {
      this.insert(macro)
    })
    return row
  }

  private choose(index: number): void {
    const rows = [...(this.list?.children ?? [])]
    this.chosen = rows.length === 0 ? 0 : (index + rows.length) % rows.length
    rows.forEach((row, number) => row.setAttribute("aria-selected", String(number === this.chosen)))
    const row = rows[this.chosen]
    row?.scrollIntoView({ block: "nearest" })
    if (row) this.element.setAttribute("aria-activedescendant", row.id)
  }

  private insert(macro: Macro | undefined): void {
    const typed = this.beginning()
    this.close()
    if (!macro || typed === undefined) return
    const end = this.element.selectionStart
    const isClosed = this.element.value.startsWith("}}", end)
    const opening = `${macro.name}${macro.arguments ? (macro.name.startsWith("#") ? " " : "::") : ""}`
    this.element.setRangeText(opening + (isClosed ? "" : "}}"), end - typed.length, end, "end")
    // Where arguments are wanted, one goes on typing before the braces.
    const caret = end - typed.length + opening.length + (macro.arguments ? 0 : 2)
    this.element.setSelectionRange(caret, caret)
    this.element.dispatchEvent(new Event("input", { bubbles: true }))
    this.close()
  }

  // Below the line in which one types, or above it where there is no room.
  private place(list: HTMLElement): void {
    const { left, top, height } = caretPlace(this.element)
    const width = Math.min(list.offsetWidth, innerWidth)
    list.style.left = `${Math.max(8, Math.min(left, innerWidth - width - 8))}px`
    const hasRoom = top + height + list.offsetHeight < innerHeight
    list.style.top = `${hasRoom ? top + height + 4 : Math.max(8, top - list.offsetHeight - 4)}px`
  }
}

function written(macro: Macro): string {
  const between = macro.arguments ? (macro.name.startsWith("#") ? " " : "::") : ""
  return `${OPEN}${macro.name}${between}${macro.arguments}}}`
}

function macrosOf(platform: string): Promise<Macro[]> {
  const asked = known.get(platform) ?? ask(platform)
  known.set(platform, asked)
  return asked
}

async function ask(platform: string): Promise<Macro[]> {
  try {
    const response = await limitedFetch(`/api/v1/macros?${new URLSearchParams({ platform })}`, {
      headers: { Accept: "application/json" },
    })
    if (!response.ok) throw new Error(response.statusText)
    return ((await response.json()) as { macros: Macro[] }).macros
  } catch {
    // Nobody is there: the next pair of braces asks again.
    known.delete(platform)
    return []
  }
}

function fitting(macros: Macro[], typed: string): Macro[] {
  if (typed === "") return macros.slice(0, MOST_SHOWN)
  return macros
    .map((macro) => ({ macro, cost: cost(typed, macro) }))
    .filter((found): found is { macro: Macro; cost: number } => found.cost !== undefined)
    .sort((a, b) => a.cost - b.cost)
    .slice(0, MOST_SHOWN)
    .map(({ macro }) => macro)
}

// A name that begins with what was typed is better than one in which its letters only occur; other names come last.
function cost(typed: string, macro: Macro): number | undefined {
  const lower = typed.toLowerCase()
  if (macro.name.toLowerCase().startsWith(lower)) return macro.name.length / 1000
  if (macro.aliases.some((alias) => alias.toLowerCase().startsWith(lower))) return 1
  const found = distance(typed, macro.name)
  return found === undefined ? undefined : found + 2
}

// Where on the screen the next letter will stand: measured in a copy of the box that is laid out in the same way.
function caretPlace(box: HTMLTextAreaElement): { left: number; top: number; height: number } {
  const style = getComputedStyle(box)
  const copy = document.createElement("div")
  for (const name of ["font", "letterSpacing", "lineHeight", "padding", "border", "boxSizing", "tabSize"] as const) {
    copy.style[name] = style[name]
  }
  copy.style.position = "fixed"
  copy.style.visibility = "hidden"
  copy.style.whiteSpace = "pre-wrap"
  copy.style.overflowWrap = "break-word"
  copy.style.width = `${box.offsetWidth}px`
  copy.textContent = box.value.slice(0, box.selectionStart)
  const mark = document.createElement("span")
  mark.textContent = "\u200b"
  copy.append(mark)
  document.body.append(copy)
  const frame = box.getBoundingClientRect()
  const height = parseFloat(style.lineHeight) || 20
  const top = Math.min(Math.max(frame.top + mark.offsetTop - box.scrollTop, frame.top), frame.bottom - height)
  const left = frame.left + mark.offsetLeft
  copy.remove()
  return { left, top, height }
}
