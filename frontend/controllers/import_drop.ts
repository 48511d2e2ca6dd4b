import { Controller } from "@hotwired/stimulus"
import { _, ngettext } from "../language"
import { megabytes } from "../sizes"

// Files that are chosen, or dropped anywhere on the page, are sent at once.
export default class ImportDrop extends Controller<HTMLFormElement> {
  static override targets = ["input", "hint", "status", "curtain"]

  declare readonly inputTarget: HTMLInputElement
  declare readonly hintTarget: HTMLElement
  declare readonly statusTarget: HTMLElement
  declare readonly curtainTarget: HTMLElement

  private isSending = false

  over(event: DragEvent): void {
    if (!bringsFiles(event)) return
    // Otherwise the browser would leave the page and show the file.
    event.preventDefault()
    this.curtainTarget.hidden = false
  }

  leave(event: DragEvent): void {
    // Between two elements of the page there is another one that is entered.
    if (event.relatedTarget === null) this.curtainTarget.hidden = true
  }

  drop(event: DragEvent): void {
    this.curtainTarget.hidden = true
    if (!bringsFiles(event) || !event.dataTransfer) return
    event.preventDefault()
    if (event.dataTransfer.files.length === 0 || this.isSending) return
    this.inputTarget.files = event.dataTransfer.files
    this.chosen()
  }

  chosen(): void {
    if (this.inputTarget.files?.length) this.element.requestSubmit()
  }

  sending(event: SubmitEvent): void {
    if (this.isSending) {
      event.preventDefault()
      event.stopImmediatePropagation()
      return
    }
    this.isSending = true
    this.hintTarget.hidden = true
    const files = [...(this.inputTarget.files ?? [])]
    const size = files.reduce((sum, file) => sum + file.size, 0)
    this.statusTarget.textContent = ngettext("Sending {count} file, {size}", "Sending {count} files, {size}", files.length, {
      size: megabytes(size),
    })
  }

  answered(event: TurboSubmitEndEvent): void {
    this.isSending = false
    if (event.detail.success) return
    this.inputTarget.value = ""
    // What the server says about it comes as a page of its own.
    if (!event.detail.fetchResponse)
      this.statusTarget.textContent = _("The server did not answer. Send the files again.")
  }
}

function bringsFiles(event: DragEvent): boolean {
  return event.dataTransfer?.types.includes("Files") ?? false
}
