import { Controller } from "@hotwired/stimulus"

// A dry run tries what is in the editor's box, saved or not; without an editor around it, what is saved.
export default class DryRun extends Controller<HTMLFormElement> {
  static override targets = ["content", "story"]
  static override values = { source: String }

  declare readonly contentTarget: HTMLInputElement
  declare readonly storyTarget: HTMLSelectElement
  declare readonly sourceValue: string

  // The story from which the editor was opened, if nothing was chosen yet.
  override connect(): void {
    const story = new URLSearchParams(location.search).get("conversation")
    const isChosen = this.storyTarget.querySelector("option[selected]") !== null
    if (story !== null && !isChosen && [...this.storyTarget.options].some((option) => option.value === story))
      this.storyTarget.value = story
  }

  take(): void {
    this.contentTarget.value = document.querySelector<HTMLTextAreaElement>(this.sourceValue)?.value ?? ""
  }
}
