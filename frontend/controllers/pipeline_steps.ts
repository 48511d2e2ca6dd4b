import { Controller } from "@hotwired/stimulus"
import { _ } from "../language"

type Told = CustomEvent<{ type: string; for: string; pipeline: string | null; step: string | null }>

// Which steps around a reply are at work, in a few words; they are told while they happen, and never again.
export default class PipelineSteps extends Controller<HTMLElement> {
  static override targets = ["words"]
  static override values = { run: String }

  declare readonly wordsTarget: HTMLElement
  declare readonly runValue: string

  private readonly atWork = new Set<string>()

  receive({ detail }: Told): void {
    if (detail.for !== this.runValue || detail.step === null) return
    if (detail.type === "pipeline.step.started") this.atWork.add(detail.step)
    else if (detail.type === "pipeline.step.done") this.atWork.delete(detail.step)
    if (this.atWork.size > 0) this.wordsTarget.textContent = _("Running: {steps}.", { steps: [...this.atWork].join(", ") })
  }
}
