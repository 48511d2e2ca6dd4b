type SubmitStart = CustomEvent<{ formSubmission: { submitter?: HTMLElement } }>

// A button that was pressed is disabled until the answer comes, and then perhaps replaced; both lose the focus. The
// button of the same id gets it back, unless somebody has gone elsewhere in the meantime.
export function keepFocus(): void {
  let pressed = ""
  document.addEventListener("turbo:submit-start", (event) => {
    pressed = (event as SubmitStart).detail.formSubmission.submitter?.id ?? ""
  })
  document.addEventListener("turbo:before-stream-render", ({ detail }) => {
    const { render } = detail
    detail.render = async (element) => {
      await render(element)
      if (pressed && document.activeElement === document.body) document.getElementById(pressed)?.focus()
    }
  })
}
