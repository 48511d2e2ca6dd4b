import { Controller } from "@hotwired/stimulus"
import { boxesIn, type Box } from "../form_rows"
import { _, ngettext } from "../language"
import { limitedFetch } from "../request_limit"

const PAUSE_MS = 500
const DEPTH_PROMPT = "extensions.depth_prompt.prompt"

interface Checked {
  counts: Record<string, number>
  permanent: number
  total: number
  hints: Record<string, string[]>
}

// Shows tokens and hints beside the fields of a card whenever somebody pauses while typing, and the prompt that the
// card would be in, as long as that is open. Nothing is saved.
export default class CardCheck extends Controller<HTMLFormElement> {
  static override targets = ["facts", "total", "book", "model", "preview", "story"]
  static override values = { url: String, preview: String, character: String }

  declare readonly factsTargets: HTMLElement[]
  declare readonly totalTarget: HTMLElement
  declare readonly bookTarget: HTMLElement
  declare readonly modelTarget: HTMLSelectElement
  declare readonly previewTarget: HTMLDetailsElement
  declare readonly storyTarget: HTMLSelectElement
  declare readonly urlValue: string
  declare readonly previewValue: string
  declare readonly characterValue: string

  private timer = 0
  private asking?: AbortController | undefined

  override connect(): void {
    // A draft may be put into the form at the same moment.
    this.timer = window.setTimeout(() => void this.check())
  }

  override disconnect(): void {
    clearTimeout(this.timer)
    this.asking?.abort()
  }

  typed(event: Event): void {
    if (event instanceof InputEvent && event.isComposing) return
    clearTimeout(this.timer)
    this.timer = window.setTimeout(() => void this.check(), PAUSE_MS)
  }

  opened(): void {
    if (this.previewTarget.open) void this.check()
  }

  async check(): Promise<void> {
    clearTimeout(this.timer)
    this.asking?.abort()
    const asking = (this.asking = new AbortController())
    try {
      await Promise.all([this.count(asking.signal), this.previewTarget.open ? this.build(asking.signal) : null])
    } catch {
      // Overtaken by the next letter, or nobody is there: what stands there is of the text before.
    }
  }

  private async count(signal: AbortSignal): Promise<void> {
    const typed = new URLSearchParams()
    for (const box of this.checked) typed.append(box.name, box.value)
    const name = this.element.elements.namedItem("name")
    if (name instanceof HTMLInputElement) typed.append("name", name.value)
    const answer = await this.ask(this.urlValue, { model: this.modelTarget.value }, typed, signal)
    if (!answer.ok) return
    const found = (await answer.json()) as Checked
    const places = new Map<string, number>()
    for (const box of this.checked) {
      const place = places.get(box.name) ?? 0
      places.set(box.name, place + 1)
      const path = box.name === "depth_prompt" ? DEPTH_PROMPT : `${box.name}[${place}]` in found.counts ? `${box.name}[${place}]` : box.name
      this.show(box, found.counts[path] ?? 0, found.hints[path] ?? [])
    }
    this.showBook(found.hints)
    const { total, permanent } = found
    this.totalTarget.textContent = ngettext("{count} token, {permanent} in every prompt", "{count} tokens, {permanent} in every prompt", total, { permanent })
  }

  // The entries of the card's lorebook have no boxes here; each is named by its place.
  private showBook(hints: Record<string, string[]>): void {
    const lines = Object.entries(hints).flatMap(([path, hints]) => {
      const place = /^character_book\.entries\[(\d+)\]/.exec(path)?.[1]
      return place === undefined ? [] : hints.map((hint) => _("Lorebook entry {number}: {hint}", { number: Number(place) + 1, hint }))
    })
    this.bookTarget.replaceChildren(...lines.map((line) => Object.assign(document.createElement("li"), { textContent: line })))
  }

  private show(box: Box, count: number, hints: string[]): void {
    const facts = factsOf(box)
    if (!facts) return
    // The row where something new can be typed is empty on purpose.
    const isNew = box.value.trim() === "" && box.closest("[data-form-row]")
    const tokens = document.createElement("span")
    tokens.textContent = box.value === "" ? "" : ngettext("{count} token", "{count} tokens", count)
    const list = document.createElement("ul")
    for (const hint of isNew ? [] : hints) list.append(Object.assign(document.createElement("li"), { textContent: hint }))
    facts.replaceChildren(tokens, ...(list.childElementCount ? [list] : []))
  }

  private async build(signal: AbortSignal): Promise<void> {
    const typed = new URLSearchParams([...new FormData(this.element)].map(([name, value]) => [name, String(value)]))
    const answer = await this.ask(this.previewValue, { story: this.storyTarget.value }, typed, signal)
    const page = new DOMParser().parseFromString(await answer.text(), "text/html")
    const frame = page.querySelector("turbo-frame#preview")
    const shown = this.previewTarget.querySelector("turbo-frame")
    if (signal.aborted || !shown) return
    const open = [...shown.querySelectorAll("details")].map((block) => block.open)
    shown.replaceChildren(...(frame ? frame.childNodes : [_("The prompt cannot be built.")]))
    for (const [index, block] of shown.querySelectorAll("details").entries()) block.open = open[index] ?? false
  }

  private ask(address: string, query: Record<string, string>, body: URLSearchParams, signal: AbortSignal): Promise<Response> {
    const named = Object.entries({ character: this.characterValue, ...query }).filter(([, value]) => value !== "")
    return limitedFetch(`${address}?${new URLSearchParams(named)}`, { method: "POST", body, signal })
  }

  private get checked(): Box[] {
    return boxesIn(this.element).filter((box) => factsOf(box))
  }
}

function factsOf(box: Box): HTMLElement | null {
  return box.closest(".field:has([data-card-check-target=facts])")?.querySelector<HTMLElement>("[data-card-check-target=facts]") ?? null
}
