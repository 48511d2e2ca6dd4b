import { Controller } from "@hotwired/stimulus"
import { _ } from "../language"

const GAP = 6
const STEPS: Record<string, number> = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }

// Which pane is shown where there is room for one, and which groups: they stay when a switch draws all of it anew.
let shownPane = "text"
let onlyGroups: string[] = []
// The switch that was pressed, which gets the focus back.
let pressedId = ""

// The text of a prompt by source: what a stretch is when it is pointed at, all about its source when it is pressed.
// There may be thousands of stretches, so all of them are listened to in one place.
export default class Inspector extends Controller<HTMLElement> {
  override connect(): void {
    this.showPane(shownPane)
    this.filter()
    this.jump()
    if (!pressedId) return
    if (document.activeElement === document.body) document.getElementById(pressedId)?.focus({ preventScroll: true })
    pressedId = ""
  }

  hover({ target, type }: Event): void {
    // A pointer that the page was scrolled under says nothing to who goes from stretch to stretch with the keyboard.
    if (type === "pointerover" && stretchOf(document.activeElement)?.matches(":focus-visible")) return
    const stretch = stretchOf(target)
    const words = stretch && cardOf(stretch)?.dataset.words
    if (!words) return
    this.tip.textContent = words
    this.tip.hidden = false
    beside(this.tip, stretch)
    stretch.setAttribute("aria-describedby", this.tip.id)
  }

  leave({ target, type }: Event): void {
    const stretch = stretchOf(target)
    if (type === "pointerout" && stretchOf(document.activeElement)?.matches(":focus-visible")) return
    stretch?.removeAttribute("aria-describedby")
    this.tip.hidden = true
  }

  pressed({ target }: Event): void {
    if (!(target instanceof Element)) return
    const stretch = stretchOf(target)
    if (stretch) return this.open(stretch)
    const pane = target.closest<HTMLElement>("[data-pane]")?.dataset.pane
    if (pane) return this.showPane(pane)
    const group = target.closest<HTMLElement>("[data-group]")?.dataset.group
    if (group) {
      onlyGroups = onlyGroups.includes(group) ? onlyGroups.filter((one) => one !== group) : [...onlyGroups, group]
      return this.filter()
    }
    if (target.closest("[data-close]")) return this.card.hidePopover()
    const link = target.closest<HTMLAnchorElement>(".part-name[href]")
    // Also where the address names it already.
    if (link) this.reveal(link.hash)
    pressedId = target.closest<HTMLElement>("[role=switch]")?.id ?? ""
  }

  // From a stretch to the next with the arrow keys: only one of each message can be reached with Tab.
  key(event: KeyboardEvent): void {
    const stretch = stretchOf(event.target)
    if (!stretch || event.ctrlKey || event.metaKey || event.altKey) return
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault()
      return this.open(stretch)
    }
    const all = [...(stretch.parentElement?.querySelectorAll<HTMLElement>("[data-source]") ?? [])]
    const step = STEPS[event.key]
    const next =
      step !== undefined
        ? all[all.indexOf(stretch) + step]
        : event.key === "Home"
          ? all[0]
          : event.key === "End"
            ? all[all.length - 1]
            : undefined
    if (!next) return
    event.preventDefault()
    stretch.tabIndex = -1
    next.tabIndex = 0
    next.focus()
  }

  // The message that the address names is open, and in its pane.
  jump(): void {
    if (location.hash) this.reveal(location.hash)
  }

  private reveal(hash: string): void {
    const place = document.getElementById(hash.slice(1))
    if (!place || !this.element.contains(place)) return
    const pane = place.closest<HTMLElement>("[data-pane-content]")?.dataset.paneContent
    if (pane) this.showPane(pane)
    if (place instanceof HTMLDetailsElement) place.open = true
    place.scrollIntoView()
  }

  private open(stretch: HTMLElement): void {
    const known = cardOf(stretch)
    if (!known) return
    const close = document.createElement("button")
    close.type = "button"
    close.className = "btn btn-ghost btn-sm source-close"
    close.dataset.close = ""
    close.textContent = _("Close")
    this.card.replaceChildren(...[...known.childNodes].map((node) => node.cloneNode(true)), close)
    this.tip.hidden = true
    stretch.tabIndex = 0
    stretch.focus({ preventScroll: true })
    this.card.showPopover()
    beside(this.card, stretch)
    const first = this.card.querySelector<HTMLElement>("a, button")
    first?.focus({ preventScroll: true })
  }

  private showPane(pane: string): void {
    shownPane = pane
    this.element.dataset.shownPane = pane
    for (const button of this.element.querySelectorAll<HTMLElement>("[data-pane]"))
      button.setAttribute("aria-pressed", String(button.dataset.pane === pane))
  }

  // Without the colour of the others, and without the messages and blocks that have nothing of the chosen ones.
  private filter(): void {
    const groups = onlyGroups.filter((group) => this.element.querySelector(`[data-group="${group}"]`))
    if (groups.length) this.element.dataset.only = groups.join(" ")
    else delete this.element.dataset.only
    for (const button of this.element.querySelectorAll<HTMLElement>("[data-group]"))
      button.setAttribute("aria-pressed", String(groups.includes(button.dataset.group ?? "")))
    for (const part of this.element.querySelectorAll<HTMLElement>("[data-groups]")) {
      const own = part.dataset.groups?.split(" ") ?? []
      part.hidden = groups.length > 0 && !own.some((group) => groups.includes(group))
    }
  }

  private get tip(): HTMLElement {
    return this.element.querySelector<HTMLElement>("#source_tip")!
  }

  private get card(): HTMLElement {
    return this.element.querySelector<HTMLElement>("#source_card")!
  }
}

function stretchOf(target: EventTarget | null): HTMLElement | null {
  return target instanceof Element ? target.closest<HTMLElement>("[data-source]") : null
}

function cardOf(stretch: HTMLElement): HTMLElement | null | undefined {
  const part = stretch.closest<HTMLElement>(".traced")
  return part?.querySelector<HTMLElement>(`:scope > .traced-sources [data-card="${stretch.dataset.source}"]`)
}

// Below a stretch, or above it where there is more room; on a phone the styles put the card at the bottom.
function beside(box: HTMLElement, stretch: HTMLElement): void {
  const [line] = stretch.getClientRects()
  if (!line) return
  const { width, height } = box.getBoundingClientRect()
  const fits = line.bottom + GAP + height < innerHeight
  const left = Math.min(line.left, document.documentElement.clientWidth - width - GAP)
  box.style.setProperty("--box-top", `${Math.max(GAP, fits ? line.bottom + GAP : line.top - GAP - height)}px`)
  box.style.setProperty("--box-left", `${Math.max(GAP, left)}px`)
}
