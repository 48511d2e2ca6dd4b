import { Controller } from "@hotwired/stimulus"

// For how many rounds characters are to talk: the number that was chosen stays, while the bar around it is drawn anew.
export default class AutoMode extends Controller<HTMLSelectElement> {
  keep(event: Event): void {
    if (event.target === this.element) event.preventDefault()
  }
}
