import { Controller } from "@hotwired/stimulus"

// Links that filter the list below them. They fill in the form of the list, so that nothing else on the page is lost.
export default class FilterLink extends Controller {
  static override targets = ["form"]

  declare readonly formTarget: HTMLFormElement

  choose(event: MouseEvent): void {
    const link = event.currentTarget as HTMLAnchorElement
    if (event.ctrlKey || event.metaKey || event.shiftKey) return
    event.preventDefault()
    const wanted = new URL(link.href).searchParams
    for (const control of this.formTarget.elements)
      if (control instanceof HTMLSelectElement || control instanceof HTMLInputElement)
        control.value = wanted.get(control.name) ?? ""
    for (const other of this.element.querySelectorAll("a[aria-current]")) other.removeAttribute("aria-current")
    link.setAttribute("aria-current", "true")
    this.formTarget.requestSubmit()
    this.scroll()
  }

  scroll(): void {
    this.formTarget.closest("section")?.scrollIntoView()
  }
}
