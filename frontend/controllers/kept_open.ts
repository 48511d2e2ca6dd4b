import { Controller } from "@hotwired/stimulus"

const open = new Set<string>()

// Details that stay open when the server draws them anew.
export default class KeptOpen extends Controller<HTMLDetailsElement> {
  override connect(): void {
    if (open.has(this.element.id)) this.element.open = true
    this.element.addEventListener("toggle", this.remember)
  }

  override disconnect(): void {
    this.element.removeEventListener("toggle", this.remember)
  }

  private readonly remember = (): void => {
    if (this.element.open) open.add(this.element.id)
    else open.delete(this.element.id)
  }
}
