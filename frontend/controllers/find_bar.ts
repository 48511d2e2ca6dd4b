import { Controller } from "@hotwired/stimulus"
import { visit } from "@hotwired/turbo"
import { isComposing, isKeyInTextOf, isKeyOf } from "../keys"
import { _, ngettext } from "../language"
import { limitedFetch } from "../request_limit"
import { markWords } from "../text_marks"

const PAUSE = 200
const PARAMETER = "find"

interface Found {
  id: string
  seq: number
}

// Goes from match to match in the whole conversation. Its key once more is the browser's own search.
export default class FindBar extends Controller<HTMLFormElement> {
  static override targets = ["box", "count"]
  static override values = { address: String }

  declare readonly boxTarget: HTMLInputElement
  declare readonly countTarget: HTMLOutputElement
  declare readonly addressValue: string

  private found: Found[] = []
  private at = -1
  private timer = 0
  private asking?: AbortController

  override connect(): void {
    const asked = new URLSearchParams(location.search)
    const query = asked.get(PARAMETER)
    if (!query) return
    this.element.hidden = false
    this.boxTarget.value = query
    void this.search(asked.get("message") ?? "")
  }

  override disconnect(): void {
    clearTimeout(this.timer)
    this.asking?.abort()
    markWords("", [])
  }

  // A page that was opened at a match would put the focus into the composer.
  keepFocus(): void {
    if (!this.element.hidden) this.boxTarget.focus({ preventScroll: true })
  }

  shortcut(event: KeyboardEvent): void {
    if (event.defaultPrevented || !isKeyOf("find", event)) return
    if (document.querySelector("dialog[open]") || document.activeElement === this.boxTarget) return
    event.preventDefault()
    this.open()
  }

  openByButton(event: MouseEvent): void {
    if (event.target instanceof Element && event.target.closest(`[data-opens="${this.element.id}"]`)) this.open()
  }

  key(event: KeyboardEvent): void {
    if (isComposing(event)) return
    if (event.key === "Escape") {
      event.preventDefault()
      event.stopPropagation()
      this.close()
    } else if (isKeyInTextOf("find_previous", event)) {
      event.preventDefault()
      this.previous()
    } else if (isKeyInTextOf("find_next", event)) {
      event.preventDefault()
      this.next()
    } else if (event.key === "Enter" && event.target === this.boxTarget) {
      // The browser would send the form.
      event.preventDefault()
    }
  }

  typed(event: InputEvent): void {
    clearTimeout(this.timer)
    if (!event.isComposing) this.timer = setTimeout(() => void this.search(), PAUSE)
  }

  next(event?: Event): void {
    event?.preventDefault()
    this.go(this.at + 1)
  }

  previous(): void {
    this.go(this.at - 1)
  }

  close(): void {
    this.element.hidden = true
    this.found = []
    this.at = -1
    markWords("", [])
    for (const element of document.querySelectorAll(".message-found")) element.classList.remove("message-found")
    document.querySelector<HTMLElement>("#composer_text, #main")?.focus({ preventScroll: true })
  }

  private open(): void {
    this.element.hidden = false
    this.boxTarget.focus()
    this.boxTarget.select()
  }

  // Begins at the newest match, or at the message that the page was opened at.
  private async search(at = ""): Promise<void> {
    this.asking?.abort()
    this.asking = new AbortController()
    const query = this.boxTarget.value.trim()
    if (query === "") {
      this.show([], -1)
      return
    }
    try {
      const options = { signal: this.asking.signal, headers: { Accept: "application/json" } }
      const response = await limitedFetch(`${this.addressValue}/find.json?${new URLSearchParams({ q: query })}`, options)
      if (!response.ok) throw new Error(response.statusText)
      const { found } = (await response.json()) as { found: Found[] }
      const place = found.findIndex(({ id }) => id === at)
      this.show(found, place < 0 ? found.length - 1 : place)
    } catch (error) {
      if (error instanceof DOMException && error.name === "AbortError") return
      this.countTarget.textContent = _("Search failed. Try again.")
    }
  }

  private show(found: Found[], at: number): void {
    this.found = found
    this.at = at
    if (found.length > 0) this.go(at)
    else {
      this.countTarget.textContent = this.boxTarget.value.trim() === "" ? "" : _("No results.")
      markWords("", [])
    }
  }

  private go(index: number): void {
    if (this.found.length === 0) return
    this.at = (index + this.found.length) % this.found.length
    const { id } = this.found[this.at] as Found
    const place = this.at + 1
    this.countTarget.textContent = ngettext("{place} of {count}", "{place} of {count}", this.found.length, { place })
    const message = document.getElementById(`message_${id}`)
    if (!message) {
      const parameters = new URLSearchParams({ message: id, [PARAMETER]: this.boxTarget.value.trim() })
      visit(`${this.addressValue}?${parameters}#message_${id}`, { action: "replace" })
      return
    }
    for (const element of document.querySelectorAll(".message-found")) element.classList.remove("message-found")
    message.classList.add("message-found")
    message.scrollIntoView({ block: "center", behavior: "instant" })
    markWords(this.boxTarget.value, document.querySelectorAll(".message .message-text, .message .story"))
  }
}
