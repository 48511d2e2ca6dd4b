// Builds the scripts and styles of the pages into the folder that is named on the command line, and writes a manifest
// there that says which hashed name each of them got: `node frontend/build.mjs <folder>`.
import { execFile } from "node:child_process"
import { readdir, readFile, writeFile } from "node:fs/promises"
import { createRequire } from "node:module"
import { basename, dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { promisify } from "node:util"
import { build } from "esbuild"

const frontend = dirname(fileURLToPath(import.meta.url))
const packages = createRequire(import.meta.url)
const [folder] = process.argv.slice(2)
if (!folder) throw new Error("Say where to build to: node frontend/build.mjs <folder>")

const tailwind = {
  name: "tailwind",
  setup(build) {
    build.onLoad({ filter: /app\.css$/ }, async ({ path }) => {
      const cli = join(dirname(packages.resolve("@tailwindcss/cli/package.json")), "dist/index.mjs")
      const { stdout } = await promisify(execFile)(process.execPath, [cli, "--input", path], { maxBuffer: 2 ** 26 })
      return { contents: stdout, loader: "css", resolveDir: dirname(path) }
    })
  },
}

const common = {
  absWorkingDir: dirname(frontend),
  outdir: folder,
  entryNames: "[name]-[hash]",
  assetNames: "[name]-[hash]",
  bundle: true,
  minify: true,
  target: "es2022",
  legalComments: "eof",
  metafile: true,
  logLevel: "warning",
}

const pages = await build({
  ...common,
  entryPoints: ["frontend/app.ts", "frontend/styles/app.css", "frontend/icon.svg", "frontend/icons/*.png"],
  format: "esm",
  loader: { ".woff2": "file", ".svg": "copy", ".png": "copy" },
  plugins: [tailwind],
})
// Runs before the page is drawn, so it is no module: modules wait.
const early = await build({ ...common, entryPoints: ["frontend/theme.ts"], format: "iife" })

// Run beside the pages, once for all of them; not every browser knows modules there.
const beside = ["frontend/events/shared_worker.ts", "frontend/service_worker.ts"]
const workers = await build({ ...common, entryPoints: beside, format: "iife" })

const manifest = {}
for (const { metafile } of [pages, early, workers]) {
  for (const [output, { entryPoint, inputs }] of Object.entries(metafile.outputs)) {
    const source = entryPoint ?? Object.keys(inputs)[0]
    manifest[basename(source).replace(/\.ts$/, ".js")] = basename(output)
  }
}
// What is bundled brings its licence along; those that come without the text have it in a comment of the bundle.
const bundled = [
  "@fontsource-variable/literata",
  "@fontsource-variable/source-sans-3",
  "@hotwired/stimulus",
  "@hotwired/turbo",
  "daisyui",
  "sortablejs",
  "tailwindcss",
]
const licences = bundled.map(async (name) => {
  const modules = join(dirname(frontend), "node_modules", name)
  const { license } = JSON.parse(await readFile(join(modules, "package.json"), "utf8"))
  const file = (await readdir(modules)).find((file) => /licen[cs]e/i.test(file))
  return `${name}: ${license}\n\n${file ? await readFile(join(modules, file), "utf8") : ""}`
})
await writeFile(join(folder, "LICENSES.txt"), (await Promise.all(licences)).join(`\n${"-".repeat(80)}\n\n`))

const names = Object.fromEntries(Object.entries(manifest).sort())
await writeFile(join(folder, "manifest.json"), JSON.stringify(names, null, 2) + "\n")
