import { Controller } from "@hotwired/stimulus"
import { announce } from "../announcer"
import { copyText } from "../clipboard"
import { _ } from "../language"

const GAP = 4
// Further than this, the menu would stand beside another message.
const SCROLLED_PX = 48

// What can be done with one message: where its menu stands, copying it, and the focus when the message is drawn anew.
export default class MessageActions extends Controller<HTMLElement> {
  static override targets = ["menu", "more"]

  declare readonly menuTarget: HTMLElement
  declare readonly moreTarget: HTMLButtonElement

  private usedButton = ""
  private openedAt = 0

  override disconnect(): void {
    removeEventListener("scroll", this.scrolled)
  }

  // Beside its button, towards where there is more room. On a phone the styles put it at the bottom.
  place(event: ToggleEvent): void {
    if (event.newState !== "open") return removeEventListener("scroll", this.scrolled)
    const button = this.moreTarget.getBoundingClientRect()
    const below = button.top < innerHeight / 2
    const { style } = this.menuTarget
    style.setProperty("--menu-top", below ? `${button.bottom + GAP}px` : "auto")
    style.setProperty("--menu-bottom", below ? "auto" : `${innerHeight - button.top + GAP}px`)
    style.setProperty("--menu-right", `${Math.max(GAP, document.documentElement.clientWidth - button.right)}px`)
    this.menuTarget.classList.add("is-placed")
    this.openedAt = scrollY
    addEventListener("scroll", this.scrolled, { passive: true })
  }

  close(): void {
    if (this.isOpen) this.menuTarget.hidePopover()
  }

  escape(event: KeyboardEvent): void {
    if (!this.isOpen) return
    // Taken here, so that it does not also stop a reply.
    event.preventDefault()
    this.close()
    this.moreTarget.focus()
  }

  async copy(): Promise<void> {
    this.close()
    const text = this.element.querySelector<HTMLElement>(".story")?.innerText ?? ""
    announce((await copyText(text)) ? _("Copied.") : _("The browser does not allow copying here."))
  }

  used(event: SubmitEvent): void {
    this.usedButton = event.submitter?.id || this.moreTarget.id
    this.close()
  }

  // A button that was pressed is disabled meanwhile and then drawn anew; somebody who has gone elsewhere is left there.
  answered(): void {
    const id = this.usedButton
    requestAnimationFrame(() =>
      requestAnimationFrame(() => {
        if (document.activeElement === document.body) document.getElementById(id)?.focus({ preventScroll: true })
      }),
    )
  }

  private readonly scrolled = (): void => {
    if (Math.abs(scrollY - this.openedAt) > SCROLLED_PX) this.close()
  }

  private get isOpen(): boolean {
    return this.menuTarget.matches(":popover-open")
  }
}
