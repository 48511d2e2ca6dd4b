import { _ } from "./language"
import type { Json } from "./settings_store"

type Control = HTMLInputElement | HTMLSelectElement | HTMLTextAreaElement

// One setting on the page: the element around it, its control, and the way between what is typed and what is saved.
export class SettingControl {
  // What stood there when the page was drawn.
  readonly initial: Json

  constructor(readonly element: HTMLElement) {
    this.initial = this.value
  }

  get path(): string {
    return this.element.dataset.path ?? ""
  }

  get control(): Control {
    return this.part("control") as Control
  }

  get slider(): HTMLInputElement | null {
    return this.part("slider") as HTMLInputElement | null
  }

  part(name: string): HTMLElement | null {
    return this.element.querySelector(`[data-part="${name}"]`)
  }

  get value(): Json {
    const { control } = this
    switch (this.element.dataset.control) {
      case "toggle":
        return (control as HTMLInputElement).checked
      case "number":
      case "slider":
        return control.value === "" ? null : Number(control.value)
      case "tags":
        return lines(control.value)
      default:
        return control.value === "" && this.isNullable ? null : control.value
    }
  }

  set value(value: Json) {
    const { control } = this
    if (this.element.dataset.control === "toggle") (control as HTMLInputElement).checked = value === true
    else control.value = Array.isArray(value) ? value.join("\n") : String(value ?? "")
    this.moveSlider()
  }

  // Null for nothing: what was typed can be saved.
  get problem(): string | null {
    return this.control.checkValidity() ? null : this.control.validationMessage
  }

  get isNullable(): boolean {
    return "nullable" in this.element.dataset
  }

  // What counts while nothing is set here.
  show(inherited: Json): void {
    if (!(this.control instanceof HTMLSelectElement) && this.element.dataset.control !== "tags" && this.isNullable)
      this.control.placeholder = inherited === null ? _("Not set") : String(inherited)
    this.moveSlider()
  }

  moveSlider(): void {
    const { slider, control } = this
    if (slider && !(control instanceof HTMLSelectElement)) slider.value = control.value || control.placeholder
  }

  // A value in words, for who has to choose between two.
  inWords(value: Json): string {
    if (value === null || value === "") return _("Empty")
    if (typeof value === "boolean") return value ? _("On") : _("Off")
    if (Array.isArray(value)) return value.join(", ")
    const { control } = this
    if (!(control instanceof HTMLSelectElement)) return String(value)
    return [...control.options].find((option) => option.value === value)?.label ?? String(value)
  }
}

function lines(text: string): Json {
  const found = text.split("\n").filter((line) => line !== "")
  return found.length > 0 ? found : null
}
