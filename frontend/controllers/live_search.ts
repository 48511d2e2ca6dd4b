import { Controller } from "@hotwired/stimulus"

const PAUSE = 250

// Searches while somebody types, when they pause; never in the middle of a character that is being composed.
export default class LiveSearch extends Controller<HTMLFormElement> {
  private timer = 0

  override disconnect(): void {
    clearTimeout(this.timer)
  }

  typed(event: InputEvent): void {
    clearTimeout(this.timer)
    if (!event.isComposing) this.timer = setTimeout(() => this.element.requestSubmit(), PAUSE)
  }

  chosen(event: Event): void {
    if (event.target instanceof HTMLSelectElement) this.element.requestSubmit()
  }

  sent(): void {
    clearTimeout(this.timer)
  }
}
