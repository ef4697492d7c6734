// The connect page's script in a browser: copies texts, fills in a key, and calls the endpoint as an MCP client. A
// string, because a bundler must not change a script that the page's policy allows by its hash.

/**
 * Takes the root of the block, a document or a shadow root, and a key from the surrounding page. Data from the endpoint
 * is only inserted as text. The script must contain no backtick and no end of a script element.
 */
export const CONNECT_SCRIPT = String.raw`(root,given)=>{
const $=q=>root.querySelector(q),box=$("#connect"),{url,id,access}=box.dataset,field=$("#key"),said=$("#said"),list=$("#tools");
const el=(tag,props={},...kids)=>{const one=Object.assign(document.createElement(tag),props);one.append(...kids);return one};
const key=()=>field?field.value.replace(/^\W*(authorization\W+)?bearer\W+/i,"").replace(/[^\w.~+\/=-]/g,""):"";
const say=(text,bad)=>{said.textContent=text;said.classList.toggle("bad",!!bad)};
const plain=text=>/^[\x21-\x7e]+( +[\x21-\x7e]+)*$/.test(text)&&!text.startsWith("=?")?text:"=?base64?"+btoa(String.fromCharCode(...new TextEncoder().encode(text)))+"?=";
const read=text=>{try{return JSON.parse(text)}catch{}};
const letter=()=>el("b",{textContent:[...$("h1").textContent.trim()][0].toUpperCase()});
const icon=()=>{const img=$("header img");if(img)img.complete&&!img.naturalWidth?img.replaceWith(letter()):img.onerror=()=>img.replaceWith(letter())};
let count=0,loaded=false;
const add=$('.add.keyed[data-client="cursor"]'),made=add&&add.href;
const ask=async(method,params,more={})=>{
const headers={"content-type":"application/json",accept:"application/json, text/event-stream","mcp-protocol-version":"2026-07-28","mcp-method":method,...more};
if(params.name)headers["mcp-name"]=plain(params.name);
if(key())headers.authorization="Bearer "+key();
const meta="io.modelcontextprotocol/",_meta={[meta+"protocolVersion"]:"2026-07-28",[meta+"clientInfo"]:{name:"tenantry-connect-page",version:"1"},[meta+"clientCapabilities"]:{}};
const answer=await fetch(url,{method:"POST",headers,body:JSON.stringify({jsonrpc:"2.0",id:++count,method,params:{...params,_meta}})}).catch(()=>{throw Error("No answer. Is this page's address among the tenant's allowed origins?")});
const text=await answer.text();
const lines=(answer.headers.get("content-type")||"").startsWith("text/event-stream")?text.split("\n").filter(line=>line.startsWith("data:")).map(line=>line.slice(5)):[text];
const message=lines.map(read).find(one=>one&&(one.result||one.error));
if(!message||message.error){
const why=message?message.error.message:"HTTP "+answer.status;
throw Error(answer.status===401?(key()?"This key is not accepted: "+why:"A key is needed, or a client that signs you in."):why)}
return message.result};
const filled=(type,text)=>{if(/string/.test(type))return text;const value=read(text);return value===undefined?text:value};
const fieldOf=([name,schema],needed)=>{
const {type="",enum:choice=type==="boolean"?[true,false]:undefined,description="",default:usual}=schema;
const one=choice?el("select",{},...(needed?[]:[el("option",{value:""})]),...choice.map(each=>el("option",{value:JSON.stringify(each),textContent:each}))):el("input",{type:/^(number|integer)$/.test(type)?"number":"text",step:"any",placeholder:usual===undefined?/object|array/.test(type)?"JSON":"":JSON.stringify(usual)});
one.required=needed&&type!=="string";
return {name,schema,label:el("label",{},name+(needed?" *":""),el("small",{className:"soft",textContent:description}),one),value:()=>one.value===""?needed&&type==="string"?"":undefined:choice?read(one.value):filled(type,one.value)}};
const formOf=tool=>{
const {properties={},required=[]}=tool.inputSchema||{},fields=Object.entries(properties).map(one=>fieldOf(one,required.includes(one[0])));
const run=el("button",{className:"go",textContent:"Run"}),out=el("pre",{className:"out",tabIndex:0,hidden:true}),form=el("form",{},...fields.map(one=>one.label),el("p",{},run),out);
out.setAttribute("role","status");
form.onsubmit=async event=>{
event.preventDefault();run.disabled=true;
const args={},more={};
for(const {name,schema,value} of fields){
const given=value();
if(given===undefined)continue;
args[name]=given;
if(schema["x-mcp-header"])more["mcp-param-"+schema["x-mcp-header"].toLowerCase()]=plain(String(given))}
let text,bad;
try{
const result=await ask("tools/call",{name:tool.name,arguments:args},more),parts=result.content;
text=parts&&parts.every(part=>part.type==="text")?parts.map(part=>part.text).join("\n"):JSON.stringify(result,null,2);
bad=result.isError
}catch(error){text=error.message;bad=true}
out.textContent=text||"(empty)";out.classList.toggle("bad",!!bad);out.hidden=false;run.disabled=false};
return form};
const rowOf=tool=>{
const {name,title,description="",annotations:{title:other,readOnlyHint}={}}=tool,shown=title||other;
const row=el("details",{},el("summary",{},el("code",{textContent:name}),...(shown&&shown!==name?[" ",el("bdi",{textContent:shown})]:[]),...(readOnlyHint?[el("small",{className:"tag",textContent:"try it"})]:[])),el("p",{className:"soft",textContent:description}));
row.dataset.name=name;
row.append(readOnlyHint?formOf(tool):el("p",{},el("small",{className:"soft",textContent:"This tool may change something: call it from a client."})));
return row};
const load=async()=>{
loaded=true;say("Asking …");
try{
const tools=[];let cursor,server;
do{
const page=await ask("tools/list",cursor?{cursor}:{});
tools.push(...page.tools);cursor=page.nextCursor;server=(page._meta||{})["io.modelcontextprotocol/serverInfo"]
}while(cursor&&tools.length<1000);
const {title=id,description}=server||{};
const [{src=""}={}]=(server||{}).icons||[];
$("h1").textContent=title;$("header>*").replaceWith(/^https:/.test(src)?el("img",{alt:"",src}):letter());icon();
if(description)$(".about").textContent=description;
list.replaceChildren(...tools.map(rowOf));say(field?(tools.length===1?"1 tool is":tools.length+" tools are")+" listed below.":"");
return true
}catch(error){loaded=false;say(error.message,true)}};
const follow=()=>{
const token=key();
box.classList.toggle("keyed",access==="key"||token!=="");
for(const one of root.querySelectorAll("pre i"))one.textContent=token||"YOUR_KEY";
if(add)add.href=made.replace(/config=(.*)/,(all,config)=>"config="+encodeURIComponent(btoa(atob(decodeURIComponent(config)).replace("YOUR_KEY",token||"YOUR_KEY"))))};
box.classList.add("on");icon();
box.addEventListener("click",async event=>{
const button=event.target.closest("[data-copy]");
if(!button)return;
const code=button.closest(".copied").querySelector(".text"),text=code.innerText.trim();
try{await navigator.clipboard.writeText(text)}catch{
getSelection().selectAllChildren(code);document.execCommand("copy")}
button.textContent="Copied";setTimeout(()=>{button.textContent="Copy"},1500)});
list.addEventListener("toggle",async({target})=>{
const {name}=target.dataset;
if(!target.open||loaded||!name||!(await load()))return;
for(const row of list.children)row.open=row.dataset.name===name},true);
if(field){
field.value=given||field.value;field.oninput=follow;field.onkeydown=({key:pressed})=>{if(pressed==="Enter")load()};
$("#use").onclick=load;follow();
if(given)load()}
}`;

/**
 * For the page of a product: puts the block after the script element, in a shadow root that the page's styles do not
 * reach.
 */
export const EMBED_SCRIPT = String.raw`(css,html)=>{
const me=document.currentScript,host=document.createElement("div"),root=host.attachShadow({mode:"open"}),sheet=new CSSStyleSheet();
sheet.replaceSync(css);root.adoptedStyleSheets=[sheet];root.innerHTML=html;me.after(host);
return [root,me.dataset.key]}`;
