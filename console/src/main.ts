import { mount } from 'svelte';
import './design/tokens.css';
import './design/base.css';
import Shell from './shell/Shell.svelte';

mount(Shell, { target: document.body });
