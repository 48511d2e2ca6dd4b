import { Controller } from "@hotwired/stimulus"
import { announce } from "../announcer"
import { _ } from "../language"

// The prompt that would be sent: its exact request can be taken along.
export default class PromptPreview extends Controller<HTMLElement> {
  static override targets = ["request"]

  declare readonly requestTarget: HTMLElement

  async copy(event: Event): Promise<void> {
    const button = event.currentTarget as HTMLElement
    try {
      await navigator.clipboard.writeText(this.requestTarget.textContent ?? "")
      button.textContent = _("Copied")
      announce(_("Request copied."))
    } catch {
      // A browser that forbids it lets people copy what is selected.
      getSelection()?.selectAllChildren(this.requestTarget)
      announce(_("The browser does not allow copying here. The request is selected: copy it with the keyboard."))
    }
  }
}
