type Control = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement

const CONTROLS = "input:not([type=hidden]), select, textarea"

// Whether drawing this part of the page anew would take something from somebody: a control that they are in or that
// says what they have not sent yet, or a place of theirs that could not be found again.
export function isInUse(part: Element): boolean {
  const { activeElement } = document
  if (activeElement && part.contains(activeElement) && (activeElement.matches(CONTROLS) || !activeElement.id)) return true
  return [...part.querySelectorAll<Control>(CONTROLS)].some(isUnsent)
}

function isUnsent(control: Control): boolean {
  if (control instanceof HTMLSelectElement) {
    const drawn = [...control.options].findIndex((option) => option.defaultSelected)
    return control.selectedIndex !== Math.max(drawn, 0)
  }
  if (control instanceof HTMLInputElement && (control.type === "checkbox" || control.type === "radio"))
    return control.checked !== control.defaultChecked
  return control.value !== control.defaultValue
}
