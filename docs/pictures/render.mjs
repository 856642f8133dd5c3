// Renders reports as GitHub would: GitHub Flavored Markdown with alerts, and
// Mermaid diagrams, in Chromium.
//
//   apt-get install chromium
//   npm install --no-save --prefix docs/pictures marked@18.2.1 marked-alert@2.1.2 \
//     github-markdown-css@5.9.0 mermaid@11.17.2 puppeteer-core@25.16.0
//   node docs/pictures/render.mjs ci/report/testdata/diff.md docs/pictures/diff.webp [width]
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Marked } from 'marked';
import markedAlert from 'marked-alert';
import puppeteer from 'puppeteer-core';

const require = createRequire(import.meta.url);
const [, , from, to, width = '860'] = process.argv;

const escape = (text) => text.replace(/[&<>]/g, (c) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;' })[c]);
const diff = (text) =>
  text
    .split('\n')
    .map((line) => `<span class="d${{ '+': 'new', '-': 'old', '!': 'loud', '#': 'note' }[line[0]] ?? 'same'}">${escape(line)}</span>`)
    .join('\n');

const marked = new Marked({ gfm: true }).use(markedAlert()).use({
  renderer: {
    code({ text, lang }) {
      if (lang === 'mermaid') return `<pre class="mermaid">${escape(text)}</pre>`;
      return `<pre><code>${lang === 'diff' ? diff(text) : escape(text)}</code></pre>`;
    },
  },
});

const page = `<!doctype html><meta charset="utf-8">
<style>${readFileSync(require.resolve('github-markdown-css/github-markdown-light.css'))}
body { margin: 0; background: #fff }
.markdown-body { padding: 16px; border: 1px solid #d1d9e0; border-radius: 6px; font-size: 14px; box-sizing: border-box }
pre.mermaid { background: none }
.dnew { color: #116329; background: #dafbe1 } .dold { color: #82071e; background: #ffebe9 }
.dloud { color: #953800; background: #ffd8b5 } .dnote { color: #59636e }
</style>
<article class="markdown-body">${marked.parse(readFileSync(from, 'utf8').replace(/^<!--.*-->\n/gm, ''))}</article>`;

const browser = await puppeteer.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox'] });
try {
  const tab = await browser.newPage();
  await tab.setViewport({ width: Number(width), height: 200, deviceScaleFactor: 1 });
  await tab.setContent(page);
  await tab.addScriptTag({ path: require.resolve('mermaid/dist/mermaid.min.js') });
  await tab.evaluate(async () => {
    mermaid.initialize({ startOnLoad: false, securityLevel: 'strict' });
    await mermaid.run();
  });
  await tab.screenshot({ path: to, fullPage: true, ...(to.endsWith('.webp') && { type: 'webp', quality: 60 }) });
} finally {
  await browser.close();
}
