// Rows of a form that can be added and taken out: greetings, notes by language.

export type Box = HTMLInputElement | HTMLTextAreaElement | HTMLSelectElement

export function boxesIn(element: Element): Box[] {
  return [...element.querySelectorAll<Box>("input[name]:not([type=hidden], [type=file]), textarea[name], select[name]")]
}

export function rowOf(box: Element): HTMLElement | null {
  return box.closest<HTMLElement>("[data-form-row]")
}

// An empty row behind this one.
export function addRow(row: HTMLElement): HTMLElement {
  const added = row.cloneNode(true) as HTMLElement
  clearRow(added)
  row.after(added)
  return added
}

export function clearRow(row: HTMLElement): void {
  for (const box of boxesIn(row)) box.value = ""
  for (const facts of row.querySelectorAll("[data-card-check-target=facts]")) facts.replaceChildren()
}
