import { Controller } from "@hotwired/stimulus"

// A dialog around a frame: it opens once the frame has something in it, and is empty again when it is closed.
export default class FrameDialog extends Controller<HTMLDialogElement> {
  open(): void {
    if (!this.element.open) this.element.showModal()
  }

  // A form in it has done what it was for.
  answered(event: TurboSubmitEndEvent): void {
    if (event.detail.success) this.element.close()
  }

  // In a dialog, the links that lead away from its page only close it.
  close(event: Event): void {
    event.preventDefault()
    this.element.close()
  }

  outside(event: MouseEvent): void {
    if (event.target === this.element) this.element.close()
  }

  // Who opens it again sees how things are then.
  closed(): void {
    const frame = this.element.querySelector("turbo-frame")
    frame?.removeAttribute("src")
    frame?.replaceChildren()
  }
}
