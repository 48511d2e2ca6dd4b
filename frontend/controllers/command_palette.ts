import { Controller } from "@hotwired/stimulus"
import { visit } from "@hotwired/turbo"
import { distance } from "../fuzzy"
import { isComposing, isKeyOf } from "../keys"
import { limitedFetch } from "../request_limit"

interface Place {
  kind: string
  name: string
  about: string
  address: string
  // What a search in texts was for: it fits nothing else.
  found?: string
}

const MOST_SHOWN = 12
const ABOUT = 100
const IN_TEXTS = 200
const PAUSE = 120

// A key, or a button that says so: leads to a page, a story or a character by some letters of its name.
export default class CommandPalette extends Controller<HTMLDialogElement> {
  static override targets = ["question", "list", "nothing"]
  static override values = { url: String }

  declare readonly questionTarget: HTMLInputElement
  declare readonly listTarget: HTMLElement
  declare readonly nothingTarget: HTMLElement
  declare readonly urlValue: string

  private places: Place[] = []
  private shown: Place[] = []
  private chosen = 0
  private asking?: AbortController
  private timer = 0

  override disconnect(): void {
    clearTimeout(this.timer)
    this.asking?.abort()
  }

  open(event: KeyboardEvent): void {
    if (event.defaultPrevented || !isKeyOf("palette", event)) return
    event.preventDefault()
    if (this.element.open) {
      this.close()
    } else if (!document.querySelector("dialog[open]")) {
      this.show()
    }
  }

  openByButton(event: MouseEvent): void {
    if (event.target instanceof Element && event.target.closest(`[data-opens="${this.element.id}"]`)) this.show()
  }

  // What was found before stays until the server has answered, as far as it still fits.
  typed(): void {
    this.draw()
    clearTimeout(this.timer)
    this.timer = setTimeout(() => void this.ask(), PAUSE)
  }

  async ask(): Promise<void> {
    this.asking?.abort()
    this.asking = new AbortController()
    const question = new URLSearchParams({ q: this.questionTarget.value })
    try {
      const options = { signal: this.asking.signal, headers: { Accept: "application/json" } }
      const response = await limitedFetch(`${this.urlValue}?${question}`, options)
      const answer = (await response.json()) as { places: Place[] }
      this.places = answer.places
      this.draw(true)
    } catch {
      // Overtaken by the next letter, or nobody is there: what is shown stays.
    }
  }

  key(event: KeyboardEvent): void {
    if (isComposing(event)) return
    if (event.key === "Escape") {
      // Taken here, so that it does not also stop a reply behind the palette.
      event.preventDefault()
      this.close()
    } else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
      event.preventDefault()
      this.choose(this.chosen + (event.key === "ArrowDown" ? 1 : -1))
    }
  }

  go(event: Event): void {
    event.preventDefault()
    const place = this.shown[this.chosen]
    if (!place) return
    this.close()
    visit(place.address)
  }

  pick(event: MouseEvent): void {
    this.chosen = [...this.listTarget.children].indexOf(event.currentTarget as Element)
    this.go(event)
  }

  leave(event: MouseEvent): void {
    if (event.target === this.element) this.close()
  }

  private show(): void {
    this.questionTarget.value = ""
    this.places = []
    this.draw()
    this.element.showModal()
    void this.ask()
  }

  private close(): void {
    this.element.close()
    // Where nothing had the focus before, it would stay here for a moment, and take the next key for a letter.
    this.questionTarget.blur()
  }

  private draw(isAnswer = false): void {
    const typed = this.questionTarget.value
    const fitting = this.places
      .map((place) => ({ place, cost: cost(typed, place) }))
      .filter((found): found is { place: Place; cost: number } => found.cost !== undefined)
    if (typed.trim() !== "") fitting.sort((a, b) => a.cost - b.cost)
    const named = fitting.filter(({ place }) => place.found === undefined)
    const inTexts = fitting.filter(({ place }) => place.found !== undefined)
    const shown = [...named.slice(0, typed.trim() === "" ? undefined : MOST_SHOWN), ...inTexts]
    this.shown = shown.map(({ place }) => place)
    this.listTarget.replaceChildren(...this.shown.map((place, index) => this.row(place, index)))
    this.nothingTarget.hidden = !isAnswer || this.shown.length > 0
    this.choose(0)
  }

  private row(place: Place, index: number): HTMLElement {
    const row = document.createElement("li")
    row.id = `palette_place_${index}`
    row.className = "palette-place"
    row.setAttribute("role", "option")
    row.dataset.action = "click->command-palette#pick"
    row.append(part("palette-name", place.name), part("palette-about", place.about), part("palette-kind", place.kind))
    return row
  }

  private choose(index: number): void {
    const rows = [...this.listTarget.children]
    this.chosen = rows.length === 0 ? 0 : (index + rows.length) % rows.length
    rows.forEach((row, number) => row.setAttribute("aria-selected", String(number === this.chosen)))
    const row = rows[this.chosen]
    row?.scrollIntoView({ block: "nearest" })
    if (row) this.questionTarget.setAttribute("aria-activedescendant", row.id)
    else this.questionTarget.removeAttribute("aria-activedescendant")
  }
}

// Names count by their letters; what is said about a place only where it holds all that was typed. What was found in
// texts comes last, in the order of the server.
function cost(typed: string, place: Place): number | undefined {
  if (place.found !== undefined) return place.found.trim() === typed.trim() ? IN_TEXTS : undefined
  const byName = distance(typed, place.name)
  if (byName !== undefined) return byName
  return place.about.toLowerCase().includes(typed.trim().toLowerCase()) ? ABOUT : undefined
}

function part(name: string, text: string): HTMLElement {
  const element = document.createElement("span")
  element.className = name
  element.textContent = text
  return element
}
