// The few parts of Turbo that are used here; the package brings no types of its own.
declare module "@hotwired/turbo" {
  export function visit(address: string, options?: { action?: "advance" | "replace" }): void
  export function renderStreamMessage(message: string): void
  export const navigator: { currentVisit?: { fail: () => void } }
  export const StreamActions: Record<string, (this: HTMLElement) => void>
}

interface TurboSubmitStartEvent extends CustomEvent {
  detail: { formSubmission: { stop: () => void } }
}

interface TurboSubmitEndEvent extends CustomEvent {
  detail: { success: boolean; fetchResponse?: { response: Response } }
}

interface TurboBeforeStreamRenderEvent extends CustomEvent {
  target: HTMLElement & { action: string; target: string | null; templateContent: DocumentFragment }
  detail: { render: (element: HTMLElement) => Promise<void> | void }
}

interface HTMLElementEventMap {
  "turbo:submit-start": TurboSubmitStartEvent
}

interface DocumentEventMap {
  "turbo:before-stream-render": TurboBeforeStreamRenderEvent
}
