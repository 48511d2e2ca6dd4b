import { Controller } from "@hotwired/stimulus"

// This close to the end counts as being there.
const NEAR = 48

type FrameRender = CustomEvent<{ render: (from: Element, to: Element) => void }>

// Stays with the newest words while the reader is there, and never moves a reader who is elsewhere.
export default class ChatScroll extends Controller<HTMLElement> {
  static override targets = ["below"]

  declare readonly belowTarget: HTMLElement

  private following = true
  private height = 0
  private resized: ResizeObserver | undefined

  override connect(): void {
    this.resized = new ResizeObserver(() => this.stay())
    this.resized.observe(this.element)
    this.start()
  }

  override disconnect(): void {
    this.resized?.disconnect()
  }

  // Also after Turbo has put a new page at its top.
  start(): void {
    if (location.hash) this.following = this.isAtEnd()
    else this.toBottom()
  }

  toBottom(): void {
    this.following = true
    this.belowTarget.hidden = true
    this.stay()
  }

  stay(): void {
    this.height = document.documentElement.scrollHeight
    if (this.following) scrollTo({ top: this.height, behavior: "instant" })
  }

  scrolled(): void {
    // A page that has just grown is not a reader who has moved.
    if (document.documentElement.scrollHeight !== this.height) return
    this.following = this.isAtEnd()
    if (this.following) this.belowTarget.hidden = true
  }

  somethingNew(): void {
    if (!this.following) this.belowTarget.hidden = false
  }

  // Older messages push everything down; the reader is moved along with what they were reading.
  olderComes(event: FrameRender): void {
    // Other frames of the page change nothing above what is read.
    if (!(event.target instanceof Element && event.target.id.startsWith("older_"))) return
    const { render } = event.detail
    event.detail.render = (from, to) => {
      const before = document.documentElement.scrollHeight
      render(from, to)
      this.height = document.documentElement.scrollHeight
      scrollBy({ top: this.height - before, behavior: "instant" })
      for (const list of from.querySelectorAll<HTMLElement>(":scope > .messages")) restOutOfSight(list)
    }
  }

  private isAtEnd(): boolean {
    const { scrollHeight, clientHeight, scrollTop } = document.documentElement
    return scrollHeight - clientHeight - scrollTop < NEAR
  }
}

// Its height is known from now on, so that nothing moves while the browser leaves it out because nobody sees it.
function restOutOfSight(list: HTMLElement): void {
  list.style.containIntrinsicBlockSize = `auto ${list.offsetHeight}px`
  list.style.contentVisibility = "auto"
}
