// The place of the reply is drawn both by answers and by events, on two connections: what is older than what is shown
// already is not drawn. Its version is the number of the conversation's last event when the server drew it.
let latest: number | undefined

export function keepRunsInOrder(): void {
  document.addEventListener("turbo:load", () => (latest = undefined))
  document.addEventListener("turbo:before-stream-render", (event) => {
    const stream = event.target
    if (stream.getAttribute("action") !== "replace" || stream.getAttribute("target") !== "run") return
    const version = versionOf(stream.templateContent.querySelector("#run"))
    if (version === undefined) return
    // Drawing waits for the next frame, so what was let through counts, and not what is in the page.
    latest ??= versionOf(document.getElementById("run"))
    if (latest !== undefined && version < latest) event.preventDefault()
    else latest = version
  })
}

function versionOf(run: Element | null): number | undefined {
  const version = run?.getAttribute("data-version")
  return version ? Number(version) : undefined
}
