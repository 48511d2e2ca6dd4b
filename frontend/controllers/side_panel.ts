import { Controller } from "@hotwired/stimulus"
import { visit } from "@hotwired/turbo"
import { isComposing, isKeyOf } from "../keys"

const PARAMETER = "panel"
const FIRST_TAB = "members"
// What else of a tab's address is worth keeping.
const KEPT = ["layer", "member"]
// Narrower than this, the panel lies over the chat.
const BESIDE = matchMedia("(min-width: 70rem)")

type FrameMissing = CustomEvent<{ response: Response }>

// What lies beside the chat, or over it on a small screen. The address says which tab is open, so that a page that is
// drawn anew opens it again; nothing is fetched before somebody asks for it.
export default class SidePanel extends Controller<HTMLElement> {
  static override targets = ["panel", "frame", "backdrop", "lost"]
  static override values = { url: String }

  declare readonly panelTarget: HTMLElement
  declare readonly frameTarget: HTMLElement & { src: string | null; reload: () => Promise<void> }
  declare readonly backdropTarget: HTMLElement
  declare readonly lostTarget: HTMLElement
  declare readonly urlValue: string

  // The id of what has the focus while the panel is drawn; null if that is elsewhere.
  private place: string | null = null

  override connect(): void {
    BESIDE.addEventListener("change", this.settle)
    const asked = new URLSearchParams(location.search)
    const tab = asked.get(PARAMETER)
    if (tab !== null) this.show(tab, asked)
  }

  override disconnect(): void {
    BESIDE.removeEventListener("change", this.settle)
    this.chat?.removeAttribute("inert")
  }

  // The button is in the bar above the chat, outside of this element.
  clicked(event: MouseEvent): void {
    const target = event.target instanceof Element ? event.target.closest("button") : null
    if (!target || target !== this.button) return
    event.preventDefault()
    this.toggle()
  }

  press(event: KeyboardEvent): void {
    if (event.defaultPrevented || !isKeyOf("panel", event) || document.querySelector("dialog[open]")) return
    event.preventDefault()
    this.toggle()
  }

  private toggle(): void {
    if (this.isOpen) this.close()
    else this.open()
  }

  open(): void {
    this.show(FIRST_TAB)
    this.panelTarget.focus()
  }

  close(): void {
    this.panelTarget.hidden = true
    this.settle()
    this.say(null)
    this.button?.focus()
  }

  // Whoever is in the panel closes it with Escape; elsewhere that key may stop the reply.
  escape(event: KeyboardEvent): void {
    if (isComposing(event) || event.defaultPrevented) return
    event.preventDefault()
    this.close()
  }

  // What is drawn anew has lost the focus: it comes back to what has the same id, else to the panel.
  drawing(): void {
    const { activeElement } = document
    this.place = this.panelTarget.contains(activeElement) ? (activeElement?.id ?? "") : null
  }

  loaded(event: Event): void {
    if (event.target !== this.frameTarget) return
    this.lostTarget.hidden = true
    // Who has closed it meanwhile does not want it back.
    if (!this.isOpen) return
    this.say(this.tab)
    // Who has gone elsewhere meanwhile is left there.
    if (this.place === null || document.activeElement !== document.body) return
    const before = this.place === "" ? null : document.getElementById(this.place)
    ;(before ?? this.panelTarget).focus()
  }

  // What came is no tab, such as the page to sign in: it is shown as the page it is.
  missing(event: FrameMissing): void {
    event.preventDefault()
    visit(event.detail.response.url)
  }

  lost(event: Event): void {
    if (event.target === this.frameTarget) this.lostTarget.hidden = false
  }

  again(): void {
    this.lostTarget.hidden = true
    void this.frameTarget.reload()
  }

  private show(tab: string, asked = new URLSearchParams()): void {
    if (!/^[a-z]+$/.test(tab)) return
    const query = kept(asked).toString()
    this.panelTarget.hidden = false
    this.frameTarget.src = this.urlValue + tab + (query && `?${query}`)
    this.settle()
    this.say(tab)
  }

  // Over the chat, the chat cannot be reached meanwhile.
  private readonly settle = (): void => {
    const covers = this.isOpen && !BESIDE.matches
    this.backdropTarget.hidden = !covers
    this.chat?.toggleAttribute("inert", covers)
    this.chat?.classList.toggle("chat-beside-panel", this.isOpen)
    this.panelTarget.toggleAttribute("data-covers", covers)
    this.button?.setAttribute("aria-expanded", String(this.isOpen))
  }

  private say(tab: string | null): void {
    const address = new URL(location.href)
    for (const name of [PARAMETER, ...KEPT]) address.searchParams.delete(name)
    if (tab !== null) {
      address.searchParams.set(PARAMETER, tab)
      for (const [name, value] of kept(this.shown.searchParams)) address.searchParams.set(name, value)
    }
    if (address.href !== location.href) history.replaceState(history.state, "", address)
  }

  private get isOpen(): boolean {
    return !this.panelTarget.hidden
  }

  private get shown(): URL {
    return new URL(this.frameTarget.src ?? "", location.href)
  }

  private get tab(): string {
    const path = this.shown.pathname
    return path.startsWith(this.urlValue) ? path.slice(this.urlValue.length) : FIRST_TAB
  }

  private get button(): HTMLElement | null {
    return document.querySelector(`[aria-controls="${this.panelTarget.id}"]`)
  }

  private get chat(): Element | null {
    return document.querySelector(".chat")
  }
}

function kept(parameters: URLSearchParams): URLSearchParams {
  return new URLSearchParams([...parameters].filter(([name]) => KEPT.includes(name)))
}
