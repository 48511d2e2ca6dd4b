import { Controller } from "@hotwired/stimulus"
import { lastReply, pressOnLastReply } from "../last_reply"

const LEAST_PX = 50
const LONGEST_MS = 500
// A finger that moves the page a little less than this was not scrolling.
const SCROLLED_PX = 8

interface Touched {
  x: number
  y: number
  at: number
  scroll: number
}

// A finger that wipes over the last reply goes to its other versions: to the left to the next, to the right back.
export default class SwipeTouch extends Controller {
  private touched: Touched | undefined

  start(event: TouchEvent): void {
    const [finger, second] = event.touches
    this.touched = undefined
    if (!finger || second || !(event.target instanceof Element) || !isOnReply(event.target)) return
    this.touched = { x: finger.clientX, y: finger.clientY, at: event.timeStamp, scroll: scrollY }
  }

  end(event: TouchEvent): void {
    const { touched } = this
    const finger = event.changedTouches[0]
    this.forget()
    if (!touched || !finger || event.touches.length > 0 || event.timeStamp - touched.at > LONGEST_MS) return
    const [x, y] = [finger.clientX - touched.x, finger.clientY - touched.y]
    if (Math.abs(x) < LEAST_PX || Math.abs(y) > Math.abs(x) / 2) return
    if (Math.abs(scrollY - touched.scroll) > SCROLLED_PX || !getSelection()?.isCollapsed) return
    pressOnLastReply(x < 0 ? "next" : "previous")
  }

  forget(): void {
    this.touched = undefined
  }
}

function isOnReply(touched: Element): boolean {
  if (!lastReply()?.contains(touched) || touched.closest("button, a, textarea, input, summary")) return false
  // What is wider than the column is moved by the same finger.
  const wide = touched.closest("pre, table")
  return !wide || wide.scrollWidth <= wide.clientWidth
}
