// A browser without a window, for pages that people use: Chromium of the packages of test/browser, which are installed
// when somebody asks. Says of it no more than the tests need.

import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll } from "vitest";
import { installPackages } from "./install-packages.ts";

const FOLDER = join(import.meta.dirname, "../browser");

interface Pointer {
  move(x: number, y: number): Promise<void>;
  click(x: number, y: number): Promise<void>;
}

export interface BrowserPage {
  readonly mouse: Pointer;
  readonly keyboard: { press(key: string): Promise<void> };
  goto(url: string): Promise<unknown>;
  goBack(): Promise<unknown>;
  goForward(): Promise<unknown>;
  reload(): Promise<unknown>;
  /** The browser that the page is a tab of. */
  context(): { newPage(): Promise<BrowserPage> };
  url(): string;
  /** Waits until there is one, and until it can be pressed. */
  click(selector: string): Promise<void>;
  dblclick(selector: string): Promise<void>;
  fill(selector: string, text: string): Promise<void>;
  uncheck(selector: string): Promise<void>;
  focus(selector: string): Promise<void>;
  textContent(selector: string): Promise<string | null>;
  content(): Promise<string>;
  evaluate<T>(script: string): Promise<T>;
  waitForURL(url: RegExp): Promise<void>;
  waitForSelector(selector: string): Promise<{ boundingBox(): Promise<Box | null> }>;
  frames(): readonly { url(): string; content(): Promise<string> }[];
  screenshot(options: { readonly path?: string; readonly fullPage: true }): Promise<Uint8Array>;
}

interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
}

export interface Look {
  readonly width: number;
  readonly scheme: "light" | "dark";
  /** High contrast. */
  readonly forced?: true;
}

interface Browser {
  newContext(options: object): Promise<{ newPage(): Promise<BrowserPage> }>;
  close(): Promise<void>;
}

interface Packages {
  readonly chromium: { launch(options: object): Promise<Browser> };
  readonly binary: { readonly args: readonly string[]; executablePath(): Promise<string> };
}

/** Stops after the tests of the file. Gives what opens a page in a browser that nobody has used before. */
export async function startBrowser(): Promise<(look?: Look) => Promise<BrowserPage>> {
  await installPackages(FOLDER);
  const { chromium, binary } = await packages();
  // Frames of other sites have processes of their own, as with people.
  const args = binary.args.filter((one) => !/single-process|no-zygote|site-isolation|insecure-content/.test(one));
  const browser = await chromium.launch({ executablePath: await binary.executablePath(), args, headless: true });
  afterAll(() => browser.close());
  return async ({ width, scheme, forced }: Look = { width: 1280, scheme: "light" }) => {
    const colours = { colorScheme: scheme, forcedColors: forced ? "active" : "none" };
    const context = await browser.newContext({ viewport: { width, height: 844 }, ...colours });
    return context.newPage();
  };
}

async function packages(): Promise<Packages> {
  const { resolve } = createRequire(join(FOLDER, "package.json"));
  const load = (name: string): Promise<unknown> => import(pathToFileURL(resolve(name)).href);
  const { chromium } = (await load("playwright-core")) as Pick<Packages, "chromium">;
  const { default: binary } = (await load("@sparticuz/chromium")) as { default: Packages["binary"] };
  return { chromium, binary };
}
