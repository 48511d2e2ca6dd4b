import { Controller } from "@hotwired/stimulus"

// Shows a picture of a message as large as the window; the keys of the browser close it.
export default class PictureViewer extends Controller<HTMLElement> {
  static override targets = ["dialog", "image"]

  declare readonly dialogTarget: HTMLDialogElement
  declare readonly imageTarget: HTMLImageElement

  open(event: MouseEvent): void {
    const link = event.currentTarget as HTMLAnchorElement
    const shown = link.querySelector("img")
    // Whoever wants it in another tab gets it there.
    if (event.ctrlKey || event.metaKey || event.shiftKey || !shown) return
    event.preventDefault()
    this.imageTarget.src = link.href
    this.imageTarget.alt = shown.alt
    this.dialogTarget.showModal()
  }

  close(): void {
    this.dialogTarget.close()
  }
}
