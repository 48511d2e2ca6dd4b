import { Controller } from "@hotwired/stimulus"
import { visit } from "@hotwired/turbo"
import { announce } from "../announcer"
import { type ChosenFiles, filesChosen, filesDropped } from "../folder_files"
import { currentUpload, type FolderUpload, startUpload } from "../folder_upload"
import { _, ngettext } from "../language"
import { showProblem } from "../problem"
import { megabytes } from "../sizes"

const FAILED_SHOWN = 50

// The zone into which a folder or a file is dropped, and how far its upload has come.
export default class FolderImport extends Controller {
  static override targets = [
    ...["choose", "file", "folder", "curtain", "upload", "bar", "numbers", "sentence", "cancel", "failed", "failures", "retry"],
  ]

  static override values = { id: String, name: String }

  // The import whose upload goes on, and what was sent for it; empty where another one begins.
  declare readonly idValue: string
  declare readonly nameValue: string
  declare readonly chooseTarget: HTMLElement
  declare readonly fileTarget: HTMLInputElement
  declare readonly folderTarget: HTMLInputElement
  declare readonly curtainTarget: HTMLElement
  declare readonly uploadTarget: HTMLElement
  declare readonly barTarget: HTMLProgressElement
  declare readonly numbersTarget: HTMLElement
  declare readonly sentenceTarget: HTMLElement
  declare readonly cancelTarget: HTMLElement
  declare readonly failedTarget: HTMLElement
  declare readonly failuresTarget: HTMLElement
  declare readonly retryTarget: HTMLElement

  private upload: FolderUpload | null = null
  private isReading = false

  override connect(): void {
    const upload = currentUpload()
    if (!this.idValue || upload?.importId === this.idValue) this.follow(upload)
  }

  override disconnect(): void {
    this.follow(null)
  }

  over(event: DragEvent): void {
    if (!event.dataTransfer?.types.includes("Files")) return
    // Otherwise the browser would leave the page and show the file.
    event.preventDefault()
    this.curtainTarget.hidden = this.isBusy
  }

  leave(event: DragEvent): void {
    if (event.relatedTarget === null) this.curtainTarget.hidden = true
  }

  drop(event: DragEvent): void {
    this.curtainTarget.hidden = true
    if (!event.dataTransfer?.types.includes("Files")) return
    event.preventDefault()
    if (!this.isBusy) void this.take(filesDropped(event.dataTransfer))
  }

  chosen(event: Event): void {
    const input = event.currentTarget as HTMLInputElement
    if (input.files?.length && !this.isBusy) void this.take(Promise.resolve(filesChosen(input.files)))
  }

  retry(): void {
    this.upload?.retry()
  }

  scan(): void {
    void this.upload?.scan()
  }

  cancel(): void {
    void this.upload?.cancel()
  }

  private get isBusy(): boolean {
    return this.isReading || this.upload !== null
  }

  private async take(finding: Promise<ChosenFiles>): Promise<void> {
    this.isReading = true
    showProblem("", this.element)
    try {
      const found = await finding
      const problem = this.problemWith(found)
      if (problem) showProblem(problem, this.element)
      else this.follow(startUpload(found, this.idValue))
    } finally {
      this.isReading = false
      this.fileTarget.value = this.folderTarget.value = ""
    }
  }

  private problemWith({ name, files }: ChosenFiles): string {
    if (files.length === 0) return _("There are no files in it. Choose another folder.")
    if (currentUpload()) return _("Another upload is not complete. Wait until it is, or cancel it.")
    // As the server writes names.
    const isSame = !this.idValue || name.split(/\s+/).filter(Boolean).join(" ") === this.nameValue
    if (isSame) return ""
    return _("This is “{name}”. Choose “{expected}” to continue, or discard the import.", { name, expected: this.nameValue })
  }

  private follow(upload: FolderUpload | null): void {
    this.upload?.removeEventListener("change", this.changed)
    this.upload = upload
    upload?.addEventListener("change", this.changed)
    this.chooseTarget.hidden = upload !== null
    this.uploadTarget.hidden = upload === null
    if (upload === null) return
    announce(_("The upload has started."))
    this.changed()
  }

  private readonly changed = (): void => {
    const { upload } = this
    if (!upload) return
    if (upload.state === "over") {
      this.follow(null)
      if (upload.problem) showProblem(upload.problem, this.element)
      else visit(upload.address)
      return
    }
    this.barTarget.max = Math.max(upload.totalBytes, 1)
    this.barTarget.value = upload.sentBytes
    this.numbersTarget.textContent = ngettext("{sent} of {count} file", "{sent} of {count} files", upload.totalFiles, {
      sent: upload.sentFiles,
    })
    this.sentenceTarget.textContent =
      upload.state === "scanning"
        ? _("Starting the scan…")
        : _("{sent} of {total}. Keep this tab open until all files are sent.", {
            sent: megabytes(upload.sentBytes),
            total: megabytes(upload.totalBytes),
          })
    this.cancelTarget.hidden = upload.state === "scanning"
    const isIncomplete = upload.state === "incomplete"
    if (isIncomplete && this.failedTarget.hidden) this.listFailures(upload)
    this.failedTarget.hidden = !isIncomplete
  }

  private listFailures(upload: FolderUpload): void {
    const lines = upload.failed.slice(0, FAILED_SHOWN).map(({ path, reason }) => `${path}: ${reason}`)
    const further = upload.failed.length - lines.length
    if (further > 0) lines.push(ngettext("and {count} more", "and {count} more", further))
    this.failuresTarget.replaceChildren(
      ...lines.map((line) => {
        const item = document.createElement("li")
        item.textContent = line
        return item
      }),
    )
    this.retryTarget.hidden = !upload.failed.some(({ file }) => file)
    announce(ngettext("{count} file was not sent.", "{count} files were not sent.", upload.failed.length))
  }
}
