// Styles of the connect page, alone and embedded. A test fails if the hash in connect-page.ts does not match this text.

/** Styles of the block. In a shadow root, light or dark follows the surrounding page. */
export const BLOCK_STYLE = `
:root,:host{--fg:light-dark(#16191f,#e7e9ee);--bg:light-dark(#fff,#111318);--soft:light-dark(#59606d,#a2a9b6);--line:light-dark(#dde1e7,#2d323b);--card:light-dark(#f5f6f8,#191c22);--go:light-dark(#1d4ed8,#93b4ff)}
#connect,#connect *{box-sizing:border-box}#connect{font:16px/1.5 system-ui,sans-serif;color:var(--fg);overflow-wrap:anywhere;text-align:start}
h1,p,pre{margin:0}h1{font-size:1.6rem;line-height:1.2}h2{font-size:1.05rem;margin:2rem 0 .6rem}
header,.line{display:flex;gap:.75rem;align-items:center}header b,header img{flex:none;width:3rem;height:3rem;border-radius:12px;object-fit:contain}header b{display:grid;place-items:center;background:var(--go);color:var(--bg);font-size:1.5rem}
small,.soft{color:var(--soft)}small{font-size:.875rem}.about{margin:1rem 0}.line>:first-child{flex:1;min-width:0}.adds{display:flex;flex-wrap:wrap;gap:.5rem;margin-bottom:.9rem}
code,pre{font:.8125rem/1.55 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace}pre{white-space:pre-wrap}
pre,.line.url,.card,details{background:var(--card);border:1px solid var(--line);border-radius:10px;padding:.7rem .9rem}.line.url{padding:.35rem .35rem .35rem .9rem}.card{margin:1rem 0;padding:1rem}.card label{display:block;margin:.7rem 0 .3rem}
button,input,select,.add{font:inherit;font-size:.9375rem;color:inherit;background:var(--bg);border:1px solid var(--line);border-radius:8px;padding:.4rem .8rem}button,.add{cursor:pointer;text-decoration:none;font-weight:600}
input:not([type=radio]),select{display:block;width:100%;min-width:0;font-weight:400;border-color:var(--soft)}.go{background:var(--go);color:var(--bg);border-color:var(--go)}button:disabled{opacity:.5}
#connect :focus-visible,:focus-visible+label{outline:2px solid var(--go);outline-offset:2px}
.tabs{display:flex;flex-wrap:wrap;gap:.4rem;position:relative}.tabs>input{position:absolute;opacity:0;pointer-events:none}.tabs>label{border:1px solid var(--line);border-radius:99px;padding:.2rem .75rem;font-size:.875rem;cursor:pointer}
.tabs>:checked+label{background:var(--fg);color:var(--bg);border-color:var(--fg)}.panel{display:none;order:1;width:100%;margin-top:.4rem}:checked+label+.panel{display:block}.panel .line{margin-bottom:.5rem;min-height:2.4rem}.panel .soft{margin-top:.5rem}
#connect:not(.keyed) .keyed,#connect.keyed .unkeyed{display:none}pre i{font-style:normal;color:var(--go)}.js{display:none}.on .js{display:revert}.on .line.js{display:flex}
details{padding:0;margin:.4rem 0}summary{cursor:pointer;padding:.6rem .9rem}summary bdi{color:var(--soft);font-size:.875rem}summary .tag{float:right;color:var(--go);font-weight:600}details>:not(summary){margin:0 .9rem .8rem}
form{display:grid;gap:.6rem}form label{font-size:.875rem;font-weight:600}form small{display:block;font-weight:400}.bad{border-left:4px solid #d92d20}#said{margin:.6rem 0}#said:empty{display:none}#said.bad{padding-left:.6rem}pre.out{background:var(--bg);max-height:24rem;overflow:auto}
`;

/** Styles of the page around the block. */
export const PAGE_STYLE = `:root{color-scheme:light dark}body{margin:0;background:light-dark(#fff,#111318)}main{max-width:48rem;margin:auto;padding:2.5rem 1.25rem}footer{font:.8125rem/1.5 system-ui,sans-serif;color:light-dark(#59606d,#a2a9b6);margin-top:2.5rem}`;
