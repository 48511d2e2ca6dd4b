import { Controller } from "@hotwired/stimulus"

const PAUSE = 250

// Searches while somebody types, when they pause; never in the middle of a character that is being composed.
// In a form that does more than search, the target is the button that searches.
export default class LiveSearch extends Controller<HTMLFormElement> {
  static override targets = ["submitter"]

  declare readonly hasSubmitterTarget: boolean
  declare readonly submitterTarget: HTMLButtonElement

  private timer = 0

  override disconnect(): void {
    clearTimeout(this.timer)
  }

  typed(event: InputEvent): void {
    clearTimeout(this.timer)
    if (!event.isComposing) this.timer = setTimeout(() => this.search(), PAUSE)
  }

  chosen(event: Event): void {
    if (event.target instanceof HTMLSelectElement) this.search()
  }

  sent(): void {
    clearTimeout(this.timer)
  }

  private search(): void {
    this.element.requestSubmit(this.hasSubmitterTarget ? this.submitterTarget : null)
  }
}
