// The files of a folder, or a single file, that somebody has chosen or dropped.

export interface FolderFile {
  path: string
  file: File
}

// `unreadable` are paths that the browser names and cannot open, such as links.
export interface ChosenFiles {
  name: string
  files: FolderFile[]
  unreadable: string[]
}

// Programs and their history: nobody's stories, and tens of thousands of files.
const LEFT_OUT = /(^|\/)(node_modules|\.git)\//
// Only their names are sent, so that the scan can say that they are not read.
const SECRET = /(^|\/)(secrets\.json|secrets_migration_[^/]*|cookie-secret\.txt|_storage\/[^/]*)$/

export async function filesDropped(transfer: DataTransfer): Promise<ChosenFiles> {
  // All at once: behind the first pause the browser has forgotten them. What is no file of a disk has no entry.
  const items = [...transfer.items].filter((item) => item.kind === "file")
  const dropped = items.map((item) => item.webkitGetAsEntry() ?? item.getAsFile())
  const found: ChosenFiles = { name: "", files: [], unreadable: [] }
  for (const one of dropped) {
    if (one instanceof File) found.files.push({ path: one.name, file: one })
    else if (one) await collect(one, "", found)
  }
  return withinFolder(found)
}

export function filesChosen(list: FileList): ChosenFiles {
  const files = [...list].map((file) => ({ path: file.webkitRelativePath || file.name, file }))
  return withinFolder({ name: "", files: files.filter(({ path }) => !LEFT_OUT.test(path)), unreadable: [] })
}

// What is sent of a file.
export function bodyOf({ path, file }: FolderFile): Blob {
  return SECRET.test(path) ? new Blob([]) : file
}

// Below one folder, paths begin inside of it: what it is called on this machine says nothing about its files.
function withinFolder({ files, unreadable }: ChosenFiles): ChosenFiles {
  const first = files[0]?.path ?? ""
  const name = first.split("/")[0] ?? ""
  const isOneFolder = first.includes("/") && files.every(({ path }) => path.startsWith(`${name}/`))
  if (!isOneFolder) return { name, files, unreadable }
  const below = (path: string) => path.slice(name.length + 1)
  return {
    name,
    files: files.map(({ path, file }) => ({ path: below(path), file })),
    unreadable: unreadable.map(below),
  }
}

async function collect(entry: FileSystemEntry, above: string, found: ChosenFiles): Promise<void> {
  const path = above + entry.name
  try {
    if (entry.isFile) {
      const file = await new Promise<File>((done, failed) => (entry as FileSystemFileEntry).file(done, failed))
      found.files.push({ path, file })
    } else if (!LEFT_OUT.test(`${path}/`)) {
      const reader = (entry as FileSystemDirectoryEntry).createReader()
      // A browser gives some of them at a time, and at the end none.
      for (;;) {
        const some = await new Promise<FileSystemEntry[]>((done, failed) => reader.readEntries(done, failed))
        if (some.length === 0) return
        for (const one of some) await collect(one, `${path}/`, found)
      }
    }
  } catch {
    found.unreadable.push(path)
  }
}
